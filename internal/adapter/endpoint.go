// SPDX-License-Identifier: Apache-2.0

package adapter

import (
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/ponte-go/ponte/internal/errs"
)

// CheckEndpoint returns an error if the name of a model is missing, or if a key is invalid. The key
// may be empty.
func CheckEndpoint(name, key string) error {
	switch {
	case name == "":
		return errors.New("Config.Name is empty; set the name of a model")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errors.New("Config.APIKey contains white space or other invalid characters; does it end in a newline?")
	}
	return nil
}

// ParseBaseURL reads a base URL. Its errors quote nothing that can be secret: no user, no query,
// and no text that is not a URL, because that can be a key.
func ParseBaseURL(s string) (*url.URL, error) {
	u, err := url.Parse(s)
	scheme, _, ok := strings.Cut(s, "://")
	switch {
	case s != strings.TrimSpace(s):
		return nil, errors.New("Config.BaseURL has white space around it, such as a newline")
	case !ok || strings.ContainsAny(scheme, ".:/?#@"):
		return nil, errors.New("Config.BaseURL must start with http:// or https://")
	case err != nil:
		return nil, errors.New("Config.BaseURL is not a valid URL")
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, errs.Errorf("Config.BaseURL %q must start with http:// or https://", CleanURL(u))
	case u.Hostname() == "":
		return nil, errors.New("Config.BaseURL has no host")
	}
	return u, nil
}

// BaseURL reads a base URL for an SDK that keeps no query. The result has no slash at its end, nor
// suffix, which may stand there.
func BaseURL(s, suffix string) (*url.URL, error) {
	u, err := ParseBaseURL(s)
	switch {
	case err != nil:
		return nil, err
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("Config.BaseURL must not have a query or fragment, which the SDK would drop")
	}
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), suffix), "/")
	u.RawPath = ""
	return u, nil
}

// DescribeConfig returns the printed form of a Config, without the key and without user and query
// of the URL. An empty base means that the address was refused.
func DescribeConfig(pkg, name, base, key string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		base = CleanURL(u)
	}
	if base == "" {
		base = "invalid base URL"
	}
	has := "no key"
	if key != "" {
		has = "key set"
	}
	return fmt.Sprintf("%s.Config(%s at %s, %s)", pkg, name, base, has)
}
