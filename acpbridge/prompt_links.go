// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"bytes"
	"context"
	"path"
	"strings"
	"unicode/utf8"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/agent/model"
	ws "github.com/ponte-go/ponte/toolset/workspace"
)

// maxLinkedFiles bounds the files that are read for one prompt.
const maxLinkedFiles = 50

// linkedFiles reads the files that a prompt links to through the session's workspace, up to limit
// bytes in total. Files that the workspace refuses, that do not fit or that the model does not
// accept are skipped: the model knows the link, and may read it with its tools.
func linkedFiles(ctx context.Context, w ws.Workspace, links []*acp.ResourceLink, media []string, limit int) []model.Part {
	var parts []model.Part
	seen := map[string]bool{}
	for _, l := range links {
		if limit <= 0 || len(seen) == maxLinkedFiles || ctx.Err() != nil {
			break
		}
		if seen[l.URI] {
			continue
		}
		seen[l.URI] = true
		if part, size := linkedFile(ctx, w, l, media, limit); size > 0 {
			parts, limit = append(parts, part), limit-size
		}
	}
	return parts
}

// linkedFile reads a file. The size is 0 if it cannot be given to the model.
func linkedFile(ctx context.Context, w ws.Workspace, l *acp.ResourceLink, media []string, limit int) (part model.Part, size int) {
	if len(l.URI) < 5 || !strings.EqualFold(l.URI[:5], "file:") {
		return
	}
	uri, r := ws.ParseLink(l.URI)
	r.Limit = limit + 1
	p := prompter{media: media}
	mediaType := mediaTypeOf(l, uri)
	asMedia := p.takes(mediaType)
	if r.Saved = asMedia; asMedia && !w.Features().Saved {
		return // an editor hands out text only
	}
	f, err := w.Read(ctx, uri, r)
	switch {
	case err != nil, f.More, len(f.Data) > limit, len(f.Data) == 0:
		return
	case asMedia:
		part = model.Media(mediaType, bytes.Clone(f.Data))
		part.Name = uriName(uri)
		return part, len(f.Data)
	case !utf8.Valid(f.Data) || bytes.IndexByte(f.Data, 0) >= 0:
		return
	}
	return model.User(fenced(l.URI, string(f.Data))), len(f.Data)
}

// mediaTypes maps the extensions of files that are not text to their media types.
var mediaTypes = map[string]string{
	".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
	".wav": "audio/wav", ".mp3": "audio/mpeg", ".pdf": "application/pdf",
}

func mediaTypeOf(l *acp.ResourceLink, uri string) string {
	if l.MIMEType != nil && *l.MIMEType != "" {
		return *l.MIMEType
	}
	return mediaTypes[strings.ToLower(path.Ext(uri))]
}
