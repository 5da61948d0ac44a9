// SPDX-License-Identifier: Apache-2.0

package webbridge

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
	"time"
)

//go:embed chatui/dist
var pageDist embed.FS

// contentSecurityPolicy restricts the page. Trusted types turn any attempt to make HTML or a script of text into an error. See
// https://www.w3.org/TR/CSP3/ and https://www.w3.org/TR/trusted-types/.
const contentSecurityPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'"

// file is a file of the page.
type pageFile struct {
	body, packed []byte
	kind, etag   string
	immutable    bool
}

var pageFiles = sync.OnceValue(func() map[string]*pageFile {
	all := map[string]*pageFile{}
	_ = fs.WalkDir(pageDist, "chatui/dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := pageDist.ReadFile(name)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(body)
		f := &pageFile{body: body, kind: pageKind(name), etag: hex.EncodeToString(sum[:12])}
		var packed bytes.Buffer
		w, _ := gzip.NewWriterLevel(&packed, gzip.BestCompression) // the level is valid
		_, _ = w.Write(body)                                       // a Buffer takes everything
		_ = w.Close()
		f.packed = packed.Bytes()
		name = strings.TrimPrefix(name, "chatui/dist")
		f.immutable = strings.HasPrefix(name, "/assets/")
		all[name] = f
		return nil
	})
	all["/"], all[""] = all["/index.html"], all["/index.html"]
	return all
})

// kindOf does not ask the system, whose table may say anything.
func pageKind(name string) string {
	switch path.Ext(name) {
	case ".html":
		return "text/html; charset=utf-8"
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".css":
		return "text/css; charset=utf-8"
	case ".md", ".txt":
		return "text/plain; charset=utf-8"
	}
	return "application/octet-stream"
}

// Page returns a handler for the page that talks to an agent in a browser. The page is embedded in programs that call Page. It is served at "/" and its files below "/assets/". Mount it below a prefix with [http.StripPrefix].
// Methods other than GET and HEAD get 405, other paths 404. Files that have their hash in their name may be cached for ever; the page
// itself is asked for again each time. The handler is safe for concurrent use.
func Page() http.Handler { return http.HandlerFunc(servePage) }

func servePage(w http.ResponseWriter, r *http.Request) {
	h := w.Header()
	h.Set("Content-Security-Policy", contentSecurityPolicy)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=()")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		h.Set("Allow", "GET, HEAD")
		http.Error(w, "method not allowed", http.StatusMethodNotAllowed)
		return
	}
	f := pageFiles()[r.URL.Path]
	if f == nil {
		http.NotFound(w, r)
		return
	}
	h.Set("Content-Type", f.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "no-cache")
	if f.immutable {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body, etag := f.body, f.etag
	if takesGzip(r) {
		body, etag = f.packed, etag+"-gzip"
		h.Set("Content-Encoding", "gzip")
	}
	h.Set("ETag", `"`+etag+`"`)
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(body))
}

// takesGzip reports whether the client takes gzip. A weight of 0 refuses it.
func takesGzip(r *http.Request) bool {
	for _, field := range strings.Split(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, params, err := mime.ParseMediaType("x/" + strings.TrimSpace(field))
		if err == nil && name == "x/gzip" {
			return strings.Trim(params["q"], "0.") != "" || params["q"] == ""
		}
	}
	return false
}
