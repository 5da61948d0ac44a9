// Package genkitmodel turns models of Genkit into models of Ponte.
package genkitmodel

import (
	_ "github.com/firebase/genkit/go/ai" // pinned; the adapter follows
	_ "github.com/firebase/genkit/go/genkit"
	_ "github.com/firebase/genkit/go/plugins/anthropic"
	_ "github.com/firebase/genkit/go/plugins/compat_oai/openai"
	_ "github.com/firebase/genkit/go/plugins/googlegenai"
	_ "github.com/firebase/genkit/go/plugins/ollama"
)
