// Package endpoint has what the configurations of dialects share: the model's name, where it is found, and the key.
package endpoint

import (
	"errors"
	"fmt"
	"net/url"
	"strings"
)

// Check returns what is wrong with a name, which must be there, and with a key, which need not.
func Check(name, key string) error {
	switch {
	case name == "":
		return errors.New("Config.Name is empty: it must name a model")
	case strings.ContainsFunc(key, func(r rune) bool { return r <= ' ' || r >= 0x7f }):
		return errors.New("Config.APIKey contains white space or a character that no key has; was it read with its newline?")
	}
	return nil
}

// BaseURL reads a base URL. The result has no slash at its end, and neither has what it may end with beside that.
func BaseURL(s, end string) (*url.URL, error) {
	u, err := url.Parse(s) // what Parse says quotes the URL, which may have a password
	switch {
	case err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "":
		return nil, errors.New("Config.BaseURL must begin with http:// or https:// and name a host")
	case u.RawQuery != "" || u.Fragment != "":
		return nil, errors.New("Config.BaseURL has a query or a fragment, which the plugin's SDK would drop")
	}
	u.Path = strings.TrimRight(strings.TrimSuffix(strings.TrimRight(u.Path, "/"), end), "/")
	u.RawPath = ""
	return u, nil
}

// Describe is how the Config of a package prints: without the key, and without a password in the URL. An empty base is one
// that was refused, and may be anything.
func Describe(pkg, name, base, key string) string {
	if u, err := url.Parse(base); err == nil && u.Host != "" {
		base = u.Redacted()
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
