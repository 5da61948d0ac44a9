// SPDX-License-Identifier: Apache-2.0

package lsp

import (
	"fmt"
	"net/url"
	"path/filepath"
	"runtime"
	"strings"
)

// URI returns the URI of a file of this machine.
func URI(path string) string {
	path = filepath.ToSlash(path)
	if !strings.HasPrefix(path, "/") { // a drive
		path = "/" + path
	}
	u := url.URL{Scheme: "file", Path: path}
	return u.String()
}

// Path returns the absolute, clean path of a file of this machine that a URI names.
func Path(uri string) (string, error) {
	u, err := url.Parse(uri)
	if err != nil || u.Scheme != "file" || u.Path == "" || strings.IndexByte(u.Path, 0) >= 0 {
		return "", fmt.Errorf("%q is not the URI of a file", head(uri))
	}
	path := u.Path
	switch {
	case u.Host != "" && u.Host != "localhost":
		if runtime.GOOS != "windows" {
			return "", fmt.Errorf("%q is on another machine", head(uri))
		}
		path = `\\` + u.Host + path
	case runtime.GOOS == "windows":
		path = strings.TrimPrefix(path, "/")
	}
	return filepath.Clean(filepath.FromSlash(path)), nil
}
