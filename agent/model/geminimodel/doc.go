// Package geminimodel asks Google's Gemini models through the official SDK.
package geminimodel
