package acpbridge

import (
	"cmp"
	"encoding/base64"
	"strings"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
)

// media shows what a response holds beside text: images, sounds, files. They come with the complete response.
func (p *projection) media(msg *model.Message) {
	for i := range msg.Parts {
		if part := &msg.Parts[i]; part.Kind == model.PartMedia {
			p.send(acp.SessionUpdate{AgentMessageChunk: &acp.ContentChunk{MessageID: p.message.body.MessageID, Content: mediaBlock(part)}})
		}
	}
}

// mediaBlock returns a media part as the protocol has it: what is known by URL alone as a link.
func mediaBlock(p *model.Part) acp.ContentBlock {
	name := cmp.Or(p.Name, p.MediaType, "media")
	if len(p.Data) == 0 {
		return acp.ContentBlock{ResourceLink: &acp.ResourceLink{Name: name, URI: p.URL, MIMEType: &p.MediaType}}
	}
	data := base64.StdEncoding.EncodeToString(p.Data)
	switch kind, _, _ := strings.Cut(p.MediaType, "/"); kind {
	case "image":
		return acp.ContentBlock{Image: &acp.ImageContent{Data: data, MIMEType: p.MediaType}}
	case "audio":
		return acp.ContentBlock{Audio: &acp.AudioContent{Data: data, MIMEType: p.MediaType}}
	}
	return acp.ContentBlock{Resource: &acp.EmbeddedResource{Resource: acp.EmbeddedResourceResource{
		Blob: &acp.BlobResourceContents{URI: cmp.Or(p.URL, name), Blob: data, MIMEType: &p.MediaType},
	}}}
}
