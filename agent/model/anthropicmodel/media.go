// SPDX-License-Identifier: Apache-2.0

package anthropicmodel

import (
	"encoding/base64"
	"slices"
	"unicode/utf8"

	"github.com/anthropics/anthropic-sdk-go"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/adapter"
)

// imageTypes lists the image types that the API supports.
var imageTypes = []string{"image/png", "image/jpeg", "image/gif", "image/webp"}

// media returns the block for a media part of a request, or an error if it cannot be sent.
func (m *Model) media(p *model.Part) (anthropic.ContentBlockParamUnion, error) {
	none := anthropic.ContentBlockParamUnion{}
	if err := adapter.CheckMedia(m.info, p); err != nil {
		return none, err
	}
	mediaType, kind := adapter.MediaType(p)
	byURL := len(p.Data) == 0
	if kind == "image" {
		unknown := byURL && (mediaType == "image" || mediaType == "image/*")
		switch {
		case !slices.Contains(imageTypes, mediaType) && !unknown:
			return none, adapter.Unsupported(m.info, "input of type "+mediaType+" (use PNG, JPEG, GIF or WebP)")
		case byURL:
			return anthropic.NewImageBlock(anthropic.URLImageSourceParam{URL: p.URL}), nil
		}
		return anthropic.NewImageBlockBase64(mediaType, base64.StdEncoding.EncodeToString(p.Data)), nil
	}
	document := &anthropic.DocumentBlockParam{}
	switch {
	case mediaType == "application/pdf" && byURL:
		document.Source.OfURL = &anthropic.URLPDFSourceParam{URL: p.URL}
	case mediaType == "application/pdf":
		document.Source.OfBase64 = &anthropic.Base64PDFSourceParam{Data: base64.StdEncoding.EncodeToString(p.Data)}
	case mediaType == "text/plain" && !byURL && utf8.Valid(p.Data):
		document.Source.OfText = &anthropic.PlainTextSourceParam{Data: string(p.Data)}
	case mediaType == "text/plain" && !byURL:
		return none, adapter.Unsupported(m.info, "text/plain that is not UTF-8")
	default:
		return none, adapter.Unsupported(m.info, "input of type "+mediaType)
	}
	if p.Name != "" {
		document.Title = anthropic.String(p.Name)
	}
	return anthropic.ContentBlockParamUnion{OfDocument: document}, nil
}
