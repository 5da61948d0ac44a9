// SPDX-License-Identifier: Apache-2.0

// Package hide prints values without their secrets. A type with a secret in an exported field has a
// method Format that passes a copy to [Format], with the secret replaced, as a type without
// methods. Where its JSON is not read by anything that needs the secret, MarshalJSON writes that
// copy too.
//
// Package fmt calls no methods of values in fields that are not exported, so types keep such values
// in functions, or have their own method Format.
package hide

import (
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
)

// Mark replaces a secret.
const Mark = "[hidden]"

// Format implements [fmt.Formatter]. shown is printed.
func Format(f fmt.State, verb rune, shown any) { fmt.Fprintf(f, fmt.FormatString(f, verb), shown) }

// Log implements [slog.LogValuer] for a value whose secrets fmt does not print.
func Log(v any) slog.Value { return slog.StringValue(fmt.Sprintf("%+v", v)) }

// Text hides a text that is not empty.
func Text(s string) string {
	if s == "" {
		return ""
	}
	return Mark
}

// Texts hides all texts of a list.
func Texts(list []string) []string {
	if list == nil {
		return nil
	}
	hidden := make([]string, len(list))
	for i := range list {
		hidden[i] = Mark
	}
	return hidden
}

// Values hides the values of a map.
func Values(m map[string]string) map[string]string {
	if m == nil {
		return nil
	}
	hidden := make(map[string]string, len(m))
	for name := range m {
		hidden[name] = Mark
	}
	return hidden
}

// Header hides the values of headers.
func Header(h http.Header) http.Header {
	if h == nil {
		return nil
	}
	hidden := make(http.Header, len(h))
	for name := range h {
		hidden[name] = []string{Mark}
	}
	return hidden
}

// Env hides the values of variables, each as NAME=value.
func Env(list []string) []string {
	if list == nil {
		return nil
	}
	hidden := make([]string, len(list))
	for i, v := range list {
		if name, _, ok := strings.Cut(v, "="); ok {
			hidden[i] = name + "=" + Mark
		} else {
			hidden[i] = Mark
		}
	}
	return hidden
}

// Replacer puts a mark in the place of secrets. The longest come first, so nothing is left of one
// that begins with another. Short texts, such as "1", are in too many words to be secrets.
func Replacer(mark string, secrets ...string) *strings.Replacer {
	secrets = slices.Clone(secrets)
	slices.SortFunc(secrets, func(a, b string) int { return len(b) - len(a) })
	var pairs []string
	for _, secret := range secrets {
		if len(secret) >= 6 {
			pairs = append(pairs, secret, mark)
		}
	}
	return strings.NewReplacer(pairs...)
}

// URL returns an address without user, query and fragment.
func URL(address string) string {
	if address == "" {
		return ""
	}
	u, err := url.Parse(address)
	if err != nil || u.Opaque != "" {
		return Mark
	}
	return (&url.URL{Scheme: u.Scheme, Host: u.Host, Path: u.Path}).String()
}
