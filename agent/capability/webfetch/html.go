// SPDX-License-Identifier: Apache-2.0

package webfetch

import (
	"bytes"
	"net/url"
	"strings"

	"github.com/JohannesKaufmann/html-to-markdown/v2/converter"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/base"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/commonmark"
	"github.com/JohannesKaufmann/html-to-markdown/v2/plugin/table"
	"golang.org/x/net/html"
	"golang.org/x/net/html/atom"
)

// markdown converts a page. A page that cannot be parsed, because it is nested too deeply, becomes its plain text.
func markdown(page string, at *url.URL) (text, title string) {
	doc, err := html.Parse(strings.NewReader(page))
	if err != nil {
		return plain(page)
	}
	title = titleOf(doc)
	from := at
	prune(doc, 0, &from)
	body := mainOf(doc)
	conv := converter.NewConverter(converter.WithPlugins(base.NewBasePlugin(), commonmark.NewCommonmarkPlugin(), table.NewTablePlugin()))
	md, err := conv.ConvertNode(body, converter.WithDomain(from.String()))
	if err != nil {
		return plain(page)
	}
	return string(bytes.TrimSpace(md)), title
}

// plain returns the text of a page without its structure.
func plain(page string) (text, title string) {
	var b strings.Builder
	z := html.NewTokenizer(strings.NewReader(page))
	skip := ""
	for {
		switch z.Next() {
		case html.ErrorToken:
			return b.String(), title
		case html.StartTagToken:
			name, _ := z.TagName()
			if s := string(name); skip == "" && (s == "script" || s == "style" || s == "title" || s == "template" || s == "noscript") {
				skip = s
			}
			b.WriteByte('\n')
		case html.EndTagToken:
			if name, _ := z.TagName(); string(name) == skip {
				skip = ""
			}
		case html.TextToken:
			switch t := strings.TrimSpace(string(z.Text())); {
			case skip == "title":
				title = t
			case skip == "" && t != "":
				b.WriteString(t)
			}
		}
	}
}

func titleOf(doc *html.Node) string {
	for n := range doc.Descendants() {
		if n.DataAtom == atom.Title && n.Namespace == "" && n.FirstChild != nil {
			return n.FirstChild.Data
		}
	}
	return ""
}

// left lists elements that are left out: what browsers do not show, and what is around the content.
var left = map[atom.Atom]bool{
	atom.Script: true, atom.Style: true, atom.Noscript: true, atom.Template: true, atom.Iframe: true, atom.Object: true, atom.Embed: true, atom.Svg: true, atom.Canvas: true,
	atom.Audio: true, atom.Video: true, atom.Dialog: true, atom.Nav: true, atom.Footer: true, atom.Aside: true, atom.Button: true, atom.Input: true, atom.Select: true,
	atom.Textarea: true, atom.Head: true, atom.Link: true, atom.Meta: true,
}

// maxNesting limits quotes and lists inside each other: each adds to every line below it, so a small page could become a
// huge text.
const maxNesting = 8

// prune removes what browsers do not show, what is around the content, data in URLs, and what would grow without bound.
func prune(n *html.Node, nested int, from **url.URL) {
	for c := n.FirstChild; c != nil; {
		next := c.NextSibling
		switch {
		case c.Type == html.CommentNode, c.Type == html.DoctypeNode, c.Type == html.ElementNode && hidden(c):
			n.RemoveChild(c)
		case c.Type == html.ElementNode && c.DataAtom == atom.Head:
			baseOf(c, from)
			n.RemoveChild(c)
		case c.Type == html.ElementNode && left[c.DataAtom]:
			n.RemoveChild(c)
		default:
			deeper := nested
			if c.Type == html.ElementNode {
				attributes(c)
				switch c.DataAtom {
				case atom.Blockquote, atom.Ul, atom.Ol, atom.Dl:
					if deeper++; deeper > maxNesting {
						c.Data, c.DataAtom = "div", atom.Div
					}
				case atom.Li:
					if nested > maxNesting {
						c.Data, c.DataAtom = "div", atom.Div
					}
				}
			}
			prune(c, deeper, from)
		}
		c = next
	}
}

// baseOf reads the base element, which changes what relative links mean.
func baseOf(head *html.Node, from **url.URL) {
	for n := range head.Descendants() {
		if n.DataAtom != atom.Base {
			continue
		}
		for _, a := range n.Attr {
			if u, err := (*from).Parse(a.Val); a.Key == "href" && err == nil && (u.Scheme == "http" || u.Scheme == "https") {
				*from = u
				return
			}
		}
	}
}

// hidden reports whether an element says that it is not shown. Text that people cannot see is where pages hide
// instructions; a style sheet can hide text as well, which is not found out.
func hidden(n *html.Node) bool {
	for _, a := range n.Attr {
		switch a.Key {
		case "hidden":
			return true
		case "aria-hidden":
			return a.Val == "true"
		case "style":
			style := strings.ToLower(strings.Join(strings.Fields(a.Val), ""))
			for _, invisible := range []string{"display:none", "visibility:hidden", "font-size:0;", "font-size:0px", "opacity:0;"} {
				if strings.Contains(style+";", invisible) {
					return true
				}
			}
		}
	}
	return false
}

// maxURL limits links and images, in bytes.
const maxURL = 2000

// attributes removes data from URLs, links that run scripts, and spans of table cells, which would multiply them.
func attributes(n *html.Node) {
	kept := n.Attr[:0]
	for _, a := range n.Attr {
		switch a.Key {
		case "href", "src":
			val := strings.ToLower(strings.TrimSpace(a.Val))
			if len(val) > maxURL || strings.HasPrefix(val, "data:") || strings.HasPrefix(val, "javascript:") || strings.HasPrefix(val, "blob:") {
				continue
			}
		case "colspan", "rowspan", "srcset", "style", "class":
			if a.Key != "class" { // the language of code is in its class
				continue
			}
		}
		kept = append(kept, a)
	}
	n.Attr = kept
	if n.DataAtom == atom.Img && attribute(n, "src") == "" {
		n.Type, n.Data, n.DataAtom, n.Attr = html.TextNode, attribute(n, "alt"), 0, nil
	}
}

func attribute(n *html.Node, key string) string {
	for _, a := range n.Attr {
		if a.Key == key {
			return a.Val
		}
	}
	return ""
}

// mainOf returns the element that has the content: the one main element, or the one article, if it has at least a
// quarter of the text; otherwise the whole page.
func mainOf(doc *html.Node) *html.Node {
	all := textLength(doc)
	for _, wanted := range []func(*html.Node) bool{
		func(n *html.Node) bool { return n.DataAtom == atom.Main },
		func(n *html.Node) bool { return attribute(n, "role") == "main" },
		func(n *html.Node) bool { return n.DataAtom == atom.Article },
	} {
		var found []*html.Node
		for n := range doc.Descendants() {
			if n.Type == html.ElementNode && wanted(n) {
				found = append(found, n)
			}
		}
		if len(found) == 1 && textLength(found[0])*4 >= all {
			return found[0]
		}
	}
	return doc
}

func textLength(n *html.Node) int {
	total := 0
	for d := range n.Descendants() {
		if d.Type == html.TextNode {
			total += len(strings.TrimSpace(d.Data))
		}
	}
	return total
}
