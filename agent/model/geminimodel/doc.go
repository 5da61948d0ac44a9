// Package geminimodel asks Google's Gemini models through the official SDK.
package geminimodel

import _ "google.golang.org/genai" // pinned; the model follows
