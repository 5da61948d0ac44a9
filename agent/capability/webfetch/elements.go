// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"strconv"
	"strings"

	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"

	"github.com/ponte-go/ponte/internal/lazy"
)

func setOf(tags ...atom.Atom) map[atom.Atom]bool {
	set := make(map[atom.Atom]bool, len(tags))
	for _, tag := range tags {
		set[tag] = true
	}
	return set
}

var (
	// left lists elements that are left out: what browsers do not show, and what is around the
	// content.
	left = setOf(atom.Script, atom.Style, atom.Noscript, atom.Template, atom.Iframe, atom.Object, atom.Svg, atom.Canvas, atom.Audio, atom.Video,
		atom.Dialog, atom.Nav, atom.Footer, atom.Aside, atom.Button, atom.Select, atom.Textarea, atom.Title, atom.Noembed, atom.Noframes)

	// hasRawText lists elements whose text has no tags.
	hasRawText = setOf(atom.Script, atom.Style, atom.Noscript, atom.Iframe, atom.Noembed, atom.Noframes, atom.Textarea, atom.Title, atom.Xmp, atom.Plaintext)

	// isVoid lists elements without content.
	isVoid = setOf(atom.Area, atom.Base, atom.Br, atom.Col, atom.Embed, atom.Frame, atom.Hr, atom.Img, atom.Input, atom.Keygen, atom.Link, atom.Meta,
		atom.Param, atom.Source, atom.Track, atom.Wbr)

	// isBlock lists elements that begin on a new line, after a blank line.
	isBlock = setOf(atom.Address, atom.Article, atom.Blockquote, atom.Caption, atom.Center, atom.Details, atom.Dir, atom.Div, atom.Dl, atom.Fieldset, atom.Figcaption,
		atom.Figure, atom.Form, atom.H1, atom.H2, atom.H3, atom.H4, atom.H5, atom.H6, atom.Header, atom.Hgroup, atom.Legend, atom.Listing, atom.Main, atom.Menu,
		atom.Ol, atom.P, atom.Plaintext, atom.Pre, atom.Section, atom.Summary, atom.Table, atom.Ul, atom.Xmp)

	// closesP lists elements that end an open paragraph.
	closesP = union(isBlock, setOf(atom.Aside, atom.Dialog, atom.Dd, atom.Dt, atom.Footer, atom.Hr, atom.Li, atom.Nav))

	// blockInCell lists elements that a table of Markdown cannot contain.
	blockInCell = setOf(atom.Table, atom.Ul, atom.Ol, atom.Dl, atom.Menu, atom.Pre, atom.Listing, atom.Xmp, atom.Blockquote, atom.H1, atom.H2, atom.H3,
		atom.H4, atom.H5, atom.H6, atom.Article, atom.Section, atom.Main)

	// breaksOut lists elements that end SVG and MathML if they begin within.
	breaksOut = union(closesP, setOf(atom.B, atom.Big, atom.Body, atom.Br, atom.Code, atom.Em, atom.Embed, atom.Head, atom.I, atom.Img, atom.Meta,
		atom.Nobr, atom.Ruby, atom.S, atom.Small, atom.Span, atom.Strong, atom.Strike, atom.Sub, atom.Sup, atom.Tt, atom.U, atom.Var))
)

func union(sets ...map[atom.Atom]bool) map[atom.Atom]bool {
	all := map[atom.Atom]bool{}
	for _, set := range sets {
		for tag := range set {
			all[tag] = true
		}
	}
	return all
}

// maxURL limits links and images, in bytes.
const maxURL = 2000

// maxColumns limits how many columns a cell may span.
const maxColumns = 20

// readAttributes reads the attributes of a tag that Markdown needs. If one occurs twice, the first
// one counts.
func (b *builder) readAttributes(z *html.Tokenizer, tag atom.Atom, more bool) (attr *attributes, role string, hidden bool) {
	var a attributes
	for more {
		b.steps++
		var key, val []byte
		key, val, more = z.TagAttr()
		switch string(key) {
		case "hidden":
			hidden = true
		case "aria-hidden":
			hidden = hidden || string(val) == "true"
		case "style":
			hidden = hidden || invisible(string(val))
		case "role":
			role = string(val)
		case "href", "src":
			wanted := tag == atom.Img && key[0] == 's' || (tag == atom.A || tag == atom.Base) && key[0] == 'h'
			if wanted && a.address == "" && len(val) <= maxURL {
				a.address = strings.TrimSpace(string(val))
			}
		case "alt":
			if tag == atom.Img && a.alt == "" {
				a.alt = string(val)
			}
		case "class":
			if (tag == atom.Pre || tag == atom.Code) && a.class == "" && len(val) <= maxURL {
				a.class = string(val)
			}
		case "start", "value", "colspan":
			if n, err := strconv.Atoi(string(val)); err == nil && n > 0 {
				a.number = min(n, 999_999)
			}
		}
	}
	if a != (attributes{}) {
		attr = &a
	}
	return attr, role, hidden
}

// invisible reports whether a style hides its element. Text that people cannot see is where pages
// hide instructions; a style sheet can hide text as well, which is not found out.
func invisible(style string) bool {
	return hides().MatchString(strings.ToLower(strings.Join(strings.Fields(style), "")) + ";")
}

var hides = lazy.Regexp(`display:none|visibility:(hidden|collapse)|(font-size|opacity):` +
	`(0+\.?0*|\.0+)(%|[a-z]+)?(!important)?;`)
