// Package genkitmodel turns models of Genkit (github.com/firebase/genkit/go) into models of Ponte.
package genkitmodel
