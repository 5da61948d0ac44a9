// SPDX-License-Identifier: Apache-2.0

package history

import (
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// Rough figures, in the units of [Estimate].
const (
	bytesPerToken = 4
	// partTokens is the cost of a part in addition to its content.
	partTokens = 4
	// imageTokens is roughly what providers charge for an image of one megapixel.
	imageTokens = 1500
	// bytesPerMediaToken is for documents and sounds; it lies between a page of a document and a
	// second of sound.
	bytesPerMediaToken = 64
)

// Estimate guesses how many tokens a message costs: a token for four bytes of text, arguments and
// signatures, 1,500 for an image. It looks at sizes only. For text of most languages it is right
// within a third.
func Estimate(m *model.Message) int {
	tokens := 0
	for i := range m.Parts {
		p := &m.Parts[i]
		tokens += partTokens
		if p.Kind == model.PartMedia {
			tokens += mediaTokens(p)
			continue
		}
		tokens += (len(p.Text) + len(p.Tool) + len(p.Args) + len(p.Signature) + len(p.Data)) / bytesPerToken
	}
	return tokens
}

func mediaTokens(p *model.Part) int {
	if strings.HasPrefix(p.MediaType, "image/") {
		return imageTokens
	}
	return max(imageTokens, len(p.Data)/bytesPerMediaToken)
}
