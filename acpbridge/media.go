// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"cmp"
	"encoding/base64"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
)

// media shows what a response holds beside text: images, sounds, files. They come with the complete response.
func (p *projection) media(msg *model.Message) {
	for i := range msg.Parts {
		if part := &msg.Parts[i]; part.Kind == model.PartMedia && (len(part.Data) > 0 || part.URL != "") {
			p.send(acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{MessageID: p.message.body.MessageID, Content: mediaBlock(part)}})
		}
	}
}

// mediaBlock returns a media part as the protocol has it: what is known by URL alone as a link, text as text.
func mediaBlock(p *model.Part) acp.ContentBlock {
	name := cmp.Or(p.Name, p.MediaType, "media")
	var mediaType *string
	if p.MediaType != "" {
		mediaType = &p.MediaType
	}
	if len(p.Data) == 0 {
		return acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: name, URI: p.URL, MIMEType: mediaType}}
	}
	kind, _, _ := strings.Cut(p.MediaType, "/")
	uri := cmp.Or(p.URL, name)
	var resource acp.EmbeddedResourceResource
	switch {
	case kind == "image":
		return acp.ContentBlock{Image: &acp.ImageContent{Data: base64.StdEncoding.EncodeToString(p.Data), MIMEType: p.MediaType}}
	case kind == "audio":
		return acp.ContentBlock{Audio: &acp.AudioContent{Data: base64.StdEncoding.EncodeToString(p.Data), MIMEType: p.MediaType}}
	case kind == "text" && utf8.Valid(p.Data):
		resource.Text = &acp.TextResourceContents{URI: uri, Text: string(p.Data), MIMEType: mediaType}
	default:
		resource.Blob = &acp.BlobResourceContents{URI: uri, Blob: base64.StdEncoding.EncodeToString(p.Data), MIMEType: mediaType}
	}
	return acp.ContentBlock{Resource: &acp.EmbeddedResource{Resource: resource}}
}
