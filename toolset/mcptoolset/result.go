// SPDX-License-Identifier: Apache-2.0

package mcptoolset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/toolset"
)

// Meta is the value of [toolset.Result.Meta] for a result with structured content, as JSON. Models
// do not see it.
type Meta struct {
	// Server and Tool are the server's name, and its name for the tool.
	Server string `json:"mcp_server"`
	Tool   string `json:"mcp_tool"`
	// Structured is the structured content. It is left out if it is larger than [Limits.Result], or
	// if it does not fit the output schema of the tool. Schemas that refer to themselves or are
	// very large are not checked.
	Structured json.RawMessage `json:"structured,omitempty"`
}

// result converts the result of a call.
func result(
	server string, d *Definition, res *mcp.CallToolResult, limits *Limits, info *model.Info,
) (toolset.Result, error) {
	w := contentWriter{limits: limits, info: info, room: limits.Media}
	for _, c := range res.Content {
		w.add(c)
	}
	out := toolset.Result{Text: w.text.String(), Content: w.media}
	var wrong string
	if data := structured(res); data != nil {
		if !w.repeats(data) {
			out.Text = strings.TrimPrefix(out.Text+"\n"+string(data), "\n")
		}
		meta := Meta{Server: server, Tool: d.Name}
		if len(data) <= limits.Result {
			var content any
			err := json.Unmarshal(data, &content)
			if err == nil {
				err = d.check.check(content, len(data))
			}
			if err == nil || res.IsError {
				meta.Structured = data
			} else {
				wrong = fmt.Sprintf("[Do not rely on this result: %v.]\n", err)
			}
		}
		out.Meta = plainJSON(meta)
	}
	out.Text = wrong + shortened(out.Text, limits.Result)
	if out.Text == "" {
		out.Text = "The tool returned no text."
		if len(out.Content) == 0 {
			out.Text = "The tool returned nothing."
		}
	}
	if res.IsError {
		return toolset.Result{}, toolset.Failed("%s", out.Text)
	}
	return out, nil
}

// contentWriter collects the content of a result.
type contentWriter struct {
	limits *Limits
	info   *model.Info
	text   strings.Builder
	texts  []string
	media  []model.Part
	room   int // for media, in bytes
}

func (w *contentWriter) line(format string, args ...any) {
	// The text is cut later. More of it is not needed.
	if w.text.Len() > w.limits.Result {
		return
	}
	if w.text.Len() > 0 {
		w.text.WriteByte('\n')
	}
	fmt.Fprintf(&w.text, format, args...)
}

func (w *contentWriter) add(c mcp.Content) {
	switch c := c.(type) {
	case *mcp.TextContent:
		w.texts = append(w.texts, c.Text)
		w.line("%s", c.Text)
	case *mcp.ImageContent:
		w.addMedia("image", c.MIMEType, "", c.Data)
	case *mcp.AudioContent:
		w.addMedia("audio", c.MIMEType, "", c.Data)
	case *mcp.ResourceLink:
		w.line("[resource %s%s]%s", head(c.URI, 2000), labelled(c.Name, c.MIMEType), after(head(c.Description, 1000)))
	case *mcp.EmbeddedResource:
		if c.Resource != nil {
			w.resource(c.Resource)
		}
	default:
		w.line("[content of an unknown kind was left out]")
	}
}

// resource adds the contents of a resource.
func (w *contentWriter) resource(r *mcp.ResourceContents) {
	if r.Blob == nil {
		w.line("[resource %s%s]\n%s", head(r.URI, 2000), labelled("", r.MIMEType), r.Text)
		return
	}
	kind, _, _ := strings.Cut(r.MIMEType, "/")
	if kind != "image" && kind != "audio" {
		kind = "file"
	}
	w.addMedia(kind, r.MIMEType, r.URI, r.Blob)
}

// addMedia adds media that the model can take. Otherwise the model is told what there is.
func (w *contentWriter) addMedia(kind, mime, uri string, data []byte) {
	mime = mediaType(mime)
	about := fmt.Sprintf("%s (%s, %d bytes)", kind, mime, len(data))
	if uri != "" {
		about += " " + head(uri, 2000)
	}
	switch {
	case len(data) == 0:
		w.line("[empty %s]", about)
	case len(data) > w.room:
		w.line("[%s left out: it is too large]", about)
	case !takes(w.info, mime):
		w.line("[%s left out: this model cannot read it]", about)
	default:
		w.room -= len(data)
		w.line("[%s follows]", about)
		w.media = append(w.media, model.Media(mime, data))
	}
}

// plainJSON returns JSON that is not escaped for HTML, nil if a value has none.
func plainJSON(v any) json.RawMessage {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return nil
	}
	return bytes.TrimSpace(b.Bytes())
}

var mediaTypePattern = regexp.MustCompile(`^[a-z]+/[a-z0-9][a-z0-9.+-]*$`)

// mediaType returns a media type without parameters, in lower case.
func mediaType(mime string) string {
	mime, _, _ = strings.Cut(strings.ToLower(head(mime, 200)), ";")
	if mime = strings.TrimSpace(mime); !mediaTypePattern.MatchString(mime) {
		return "application/octet-stream"
	}
	return mime
}

// takes reports whether a model accepts media of a type. Without a model, as in a unit test,
// everything is accepted.
func takes(info *model.Info, mime string) bool {
	kind, _, _ := strings.Cut(mime, "/")
	return info == nil || slices.Contains(info.Media, mime) || slices.Contains(info.Media, kind)
}

func labelled(name, mime string) string {
	label := ""
	if name != "" {
		label += " " + head(name, 200)
	}
	if mime != "" {
		label += " (" + mediaType(mime) + ")"
	}
	return label
}

func after(text string) string {
	if text == "" {
		return ""
	}
	return " " + text
}
