// SPDX-License-Identifier: Apache-2.0

// Package secrettest finds types that show secrets when they are printed, logged or encoded. It makes values in which every
// field that may hold a secret holds one that is known, fields that are not exported included, and looks for it in what is written.
package secrettest

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"strings"
)

// Secret is the secret that [Maker] plants.
const Secret = "pl4nted-s3cret-0123456789"

// Address is a URL with [Secret] in each place where URLs have secrets.
const Address = "https://" + Secret + ":" + Secret + "@example.com/path?key=" + Secret

// Leaks reports whether a text has [Secret], as it is or encoded.
func Leaks(text string) bool {
	numbers := fmt.Sprint([]byte(Secret))
	encoded := base64.RawStdEncoding.EncodeToString([]byte(Secret))
	lower := strings.ToLower(text)
	return slices.ContainsFunc([]string{Secret, url.QueryEscape(Secret), hex.EncodeToString([]byte(Secret)), strings.Trim(numbers, "[]"),
		strings.ReplaceAll(strings.Trim(numbers, "[]"), " ", ", ")}, func(form string) bool { return strings.Contains(lower, form) }) ||
		strings.Contains(text, encoded[:len(encoded)-2])
}

// verbs are the verbs of fmt that print text, with flags that change what is printed.
var verbs = []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "% x", "%d", "%T %v", "%10v"}

// Ways are the ways to write a value that show [Secret].
func Ways(value any) (leaks []string) {
	note := func(way, text string) {
		if Leaks(text) {
			leaks = append(leaks, way)
		}
	}
	for _, verb := range verbs {
		note("fmt "+verb, fmt.Sprintf(verb, slices.Repeat([]any{value}, strings.Count(verb, "%"))...))
	}
	for way, handler := range map[string]func(*strings.Builder) slog.Handler{
		"slog text": func(b *strings.Builder) slog.Handler { return slog.NewTextHandler(b, nil) },
		"slog JSON": func(b *strings.Builder) slog.Handler { return slog.NewJSONHandler(b, nil) },
	} {
		var b strings.Builder
		slog.New(handler(&b)).With("with", value).Info("x", "value", value, slog.Group("group", "value", value))
		note(way, b.String())
	}
	if data, err := json.Marshal(value); err == nil {
		note("encoding/json", string(data))
	} else {
		note("error of encoding/json", err.Error())
	}
	if e, ok := value.(error); ok {
		note("Error", e.Error())
	}
	slices.Sort(leaks)
	return leaks
}
