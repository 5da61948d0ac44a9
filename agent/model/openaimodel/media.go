package openaimodel

import (
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/ponte-go/ponte/agent/model"
)

// appendMedia appends a media part as an element of a user message's content, or says why it cannot be sent.
func (m *Model) appendMedia(dst []byte, p *model.Part) ([]byte, error) {
	mediaType, _, _ := strings.Cut(strings.ToLower(p.MediaType), ";")
	mediaType = strings.TrimSpace(mediaType)
	kind, _, _ := strings.Cut(mediaType, "/")
	if mediaType == "application/pdf" {
		kind = mediaType
	}
	if kind == "" {
		return nil, errors.New("openaimodel: a media part has no media type")
	}
	if !slices.Contains(m.profile.Media, kind) && !slices.Contains(m.profile.Media, mediaType) {
		return nil, m.unsupported("input of type " + mediaType)
	}
	byURL := p.Data == nil && p.URL != ""
	if byURL && (kind == "audio" || !slices.Contains(m.profile.MediaURLs, kind)) {
		return nil, m.unsupported("input of type " + mediaType + " by URL")
	}
	if !byURL && len(p.Data) == 0 {
		return nil, fmt.Errorf("openaimodel: a media part of type %s has neither data nor URL", mediaType)
	}

	switch kind {
	case "image":
		dst = append(dst, `{"type":"image_url","image_url":{"url":`...)
		dst = appendDataURL(dst, mediaType, p)
		return append(dst, "}}"...), nil
	case "audio":
		format := audioFormats[mediaType]
		if format == "" {
			return nil, m.unsupported("input of type " + mediaType + " (WAV and MP3 can be sent)")
		}
		dst = append(dst, `{"type":"input_audio","input_audio":{"data":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, p.Data)
		dst = append(dst, `","format":"`...)
		dst = append(dst, format...)
		return append(dst, `"}}`...), nil
	case "application/pdf":
		dst = append(dst, `{"type":"file","file":{"filename":`...)
		dst = appendJSONString(dst, firstNonEmpty(p.Name, "document.pdf"))
		dst = append(dst, `,"file_data":`...)
		dst = appendDataURL(dst, mediaType, p)
		return append(dst, "}}"...), nil
	}
	return nil, m.unsupported("input of type " + mediaType)
}

// audioFormats are the names that the wire has for media types.
var audioFormats = map[string]string{
	"audio/wav": "wav", "audio/x-wav": "wav", "audio/wave": "wav", "audio/vnd.wave": "wav",
	"audio/mpeg": "mp3", "audio/mp3": "mp3",
}

// appendDataURL appends the part's URL, or its data as a URL, as a JSON string.
func appendDataURL(dst []byte, mediaType string, p *model.Part) []byte {
	if p.Data == nil {
		return appendJSONString(dst, p.URL)
	}
	dst = append(dst, `"data:`...)
	dst = appendJSONChars(dst, mediaType)
	dst = append(dst, ";base64,"...)
	dst = base64.StdEncoding.AppendEncode(dst, p.Data)
	return append(dst, '"')
}
