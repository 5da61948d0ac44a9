// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/internal/markdown"
	"github.com/ponte-go/ponte/internal/show"
)

// prompter turns the content blocks of a prompt into what the model is given.
type prompter struct {
	media []string // see model.Info
	text  strings.Builder
	plain bool         // the last block was text
	parts []model.Part // media, in order, each behind the text that was before it
	files []model.Part // the contents of embedded resources, which follow everything else
	links []*acp.ResourceLink
}

// promptParts converts a prompt. Adjacent text and links become one text, because editors cut a
// sentence into pieces where it mentions a file. Two texts become lines of it. An error is the
// answer to the prompt: -32602 with the block's index and kind. The links are the resources that
// the prompt mentions without their contents.
func promptParts(blocks []acp.ContentBlock, media []string) (_ []model.Part, links []*acp.ResourceLink, _ error) {
	p := prompter{media: media}
	for i := range blocks {
		if kind, problem := p.block(&blocks[i]); problem != "" {
			return nil, nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: prompt[%d] (%s): %s", i, kind, problem).
				WithData(errorData{Kind: KindPrompt, Index: &i, Block: kind})
		}
	}
	p.endText()
	parts := append(p.parts, p.files...)
	if len(parts) == 0 {
		return nil, nil, acp.Errorf(acp.CodeInvalidParams, "invalid params: the prompt is empty").WithData(errorData{Kind: KindPrompt})
	}
	return parts, p.links, nil
}

// block adds a block. A problem says why that cannot be done.
func (p *prompter) block(b *acp.ContentBlock) (kind, problem string) {
	between := ""
	if p.plain {
		between = "\n"
	}
	p.plain = b.Text != nil
	switch {
	case b.Text != nil:
		p.text.WriteString(between + b.Text.Text)
		return "text", ""
	case b.ResourceLink != nil:
		p.link(b.ResourceLink)
		return "resource_link", ""
	case b.Image != nil:
		return "image", p.encoded("image", b.Image.MIMEType, b.Image.Data, "")
	case b.Audio != nil:
		return "audio", p.encoded("audio", b.Audio.MIMEType, b.Audio.Data, "")
	case b.Resource != nil:
		return "resource", p.resource(&b.Resource.Resource)
	}
	return "unknown", "this kind of block is not supported"
}

// link mentions a resource without its contents: the model can read it with its tools. See
// linkedFiles.
func (p *prompter) link(l *acp.ResourceLink) {
	p.links = append(p.links, l)
	name := l.Name
	if name == "" {
		name = uriName(l.URI)
	}
	p.mention(name, l.URI)
	if l.Description != nil && *l.Description != "" {
		fmt.Fprintf(&p.text, " (%s)", *l.Description)
	}
}

// mention writes a Markdown link.
func (p *prompter) mention(name, uri string) {
	if strings.ContainsAny(uri, " ()<>\n") {
		uri = "<" + strings.NewReplacer("<", "%3C", ">", "%3E", "\n", "%0A").Replace(uri) + ">"
	}
	fmt.Fprintf(&p.text, "[%s](%s)", strings.NewReplacer("[", `\[`, "]", `\]`, "\n", " ").Replace(name), uri)
}

// resource adds a reference where an embedded resource occurs, and its contents after the prompt's
// text.
func (p *prompter) resource(r *acp.EmbeddedResourceResource) (problem string) {
	switch {
	case r.Text != nil:
		p.mention(uriName(r.Text.URI), r.Text.URI)
		p.files = append(p.files, model.User(fenced(r.Text.URI, r.Text.Text)))
		return ""
	case r.Blob != nil:
		mediaType := ""
		if r.Blob.MIMEType != nil {
			mediaType = *r.Blob.MIMEType
		}
		return p.blob(r.Blob.URI, mediaType, r.Blob.Blob)
	}
	return "the resource has neither text nor a blob"
}

// blob is a resource with binary contents: media that the model takes, or text in disguise.
func (p *prompter) blob(uri, mediaType, data string) (problem string) {
	if p.takes(mediaType) {
		p.mention(uriName(uri), uri)
		return p.encoded("", mediaType, data, uriName(uri))
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "its data is not base64"
	}
	if !strings.HasPrefix(mediaType, "text/") || !utf8.Valid(raw) {
		return fmt.Sprintf("the model does not take %s", orUnknown(mediaType))
	}
	p.mention(uriName(uri), uri)
	p.files = append(p.files, model.User(fenced(uri, string(raw))))
	return ""
}

// encoded adds media. If kind is not empty, the media type must begin with it.
func (p *prompter) encoded(kind, mediaType, data, name string) (problem string) {
	if kind != "" && !strings.HasPrefix(mediaType, kind+"/") {
		return fmt.Sprintf("its media type is %s", orUnknown(mediaType))
	}
	if !p.takes(mediaType) {
		return fmt.Sprintf("the model does not take %s", mediaType)
	}
	raw, err := base64.StdEncoding.DecodeString(data)
	if err != nil {
		return "its data is not base64"
	}
	if len(raw) == 0 {
		return "its data is empty"
	}
	p.endText()
	part := model.Media(mediaType, raw)
	part.Name = name
	p.parts = append(p.parts, part)
	return ""
}

// takes reports whether the model takes the media type, whole or by its first part.
func (p *prompter) takes(mediaType string) bool {
	base, _, _ := strings.Cut(mediaType, ";")
	base = strings.ToLower(strings.TrimSpace(base))
	top, _, _ := strings.Cut(base, "/")
	return base != "" && (slices.Contains(p.media, base) || slices.Contains(p.media, top))
}

// endText makes a part of the text so far. Blank text alone says nothing.
func (p *prompter) endText() {
	if text := p.text.String(); strings.TrimSpace(text) != "" {
		p.parts = append(p.parts, model.User(text))
	}
	p.text.Reset()
}

// promptCapabilities announces what promptParts takes. Text resources are always inlined.
func promptCapabilities(media []string) acp.PromptCapabilities {
	has := func(top string) bool {
		return slices.ContainsFunc(media, func(m string) bool { return m == top || strings.HasPrefix(m, top+"/") })
	}
	return acp.PromptCapabilities{Image: has("image"), Audio: has("audio"), EmbeddedContext: true}
}

// fenced puts a resource's text between fences longer than any in it.
func fenced(uri, text string) string {
	fence := markdown.Fence(text, 3)
	newline := ""
	if !strings.HasSuffix(text, "\n") {
		newline = "\n"
	}
	return fmt.Sprintf("Contents of %s:\n%s\n%s%s%s", show.Line(uri), fence, text, newline, fence)
}

// uriName returns the common name of a resource: the last element of its path.
func uriName(uri string) string {
	u, err := url.Parse(uri)
	if err != nil || u.Path == "" || u.Path == "/" {
		return uri
	}
	return path.Base(u.Path)
}

func orUnknown(mediaType string) string {
	if mediaType == "" {
		return "content of an unknown type"
	}
	return mediaType
}
