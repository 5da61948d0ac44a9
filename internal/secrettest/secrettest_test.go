// SPDX-License-Identifier: Apache-2.0

package secrettest_test

import (
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/secrettest"
)

// A secret leaks in any case, encoded as texts and bytes are, and not if a part of it is missing.
func TestSecretsLeakInManyForms(t *testing.T) {
	const secret = secrettest.Secret
	for _, form := range []string{
		secret, strings.ToUpper(secret), hex.EncodeToString([]byte(secret)), strings.ToUpper(hex.EncodeToString([]byte(secret))), fmt.Sprint([]byte(secret)),
		strings.ReplaceAll(fmt.Sprint([]byte(secret)), " ", ", "), base64.StdEncoding.EncodeToString([]byte(secret)), base64.RawURLEncoding.EncodeToString([]byte(secret)), url.QueryEscape(secret),
		base64.StdEncoding.EncodeToString([]byte(secret + "more")), secrettest.Address,
	} {
		require.True(t, secrettest.Leaks("a "+form+" b"), form)
	}
	for _, form := range []string{
		"", "pl4nted", secret[1:], secret[:len(secret)-1], hex.EncodeToString([]byte(secret[1:])), base64.StdEncoding.EncodeToString([]byte(secret[3:])), strings.ToLower(base64.StdEncoding.EncodeToString([]byte(secret))),
		fmt.Sprint([]byte(secret[:len(secret)-1])), base64.RawStdEncoding.EncodeToString([]byte(secret))[:31],
	} {
		require.False(t, secrettest.Leaks(form), form)
	}
}

type shown struct{ A string }

type hidden struct{ A string }

func (hidden) Format(f fmt.State, _ rune)   { fmt.Fprint(f, "hidden") }
func (hidden) MarshalJSON() ([]byte, error) { return []byte(`"hidden"`), nil }

type failing struct{ A string }

func (f failing) Error() string                { return "bad " + f.A }
func (f failing) MarshalJSON() ([]byte, error) { return nil, errors.New("no JSON of " + f.A) }

// All ways to print a value are told that show its secret.
func TestWaysToShowSecrets(t *testing.T) {
	fmtWays := []string{"fmt % x", "fmt %#v", "fmt %+v", "fmt %10v", "fmt %T %v", "fmt %X", "fmt %d", "fmt %q", "fmt %s", "fmt %v", "fmt %x"}
	with := func(more ...string) []string {
		return slices.Sorted(slices.Values(append(slices.Clone(fmtWays), more...)))
	}
	without := func(all []string, one string) []string {
		return slices.DeleteFunc(all, func(s string) bool { return s == one })
	}
	require.Equal(t, without(with("encoding/json", "slog JSON", "slog text"), "fmt % x"), without(secrettest.Ways(shown{secrettest.Secret}), "fmt % x"))
	require.Empty(t, secrettest.Ways(shown{"harmless"}))
	require.Empty(t, secrettest.Ways(hidden{secrettest.Secret}))
	all := secrettest.Ways(failing{secrettest.Secret})
	for _, way := range []string{"Error", "error of encoding/json", "fmt %v", "slog text", "slog JSON"} {
		require.Contains(t, all, way)
	}
	require.True(t, slices.IsSorted(all))
	require.NotContains(t, all, "encoding/json")
	require.Equal(t, []string{"fmt %#v"}, secrettest.Ways(goString{}))
	require.Contains(t, secrettest.Ways([]byte(secrettest.Secret)), "encoding/json")
	require.True(t, secrettest.Leaks(base64.RawStdEncoding.EncodeToString([]byte(secrettest.Secret))[:32]))
}

type goString struct{}

func (goString) GoString() string { return secrettest.Secret }

type (
	inner struct {
		Text  string
		Token string
	}
	recursive struct {
		Name string
		Next *recursive
	}
	doer  interface{ Do() }
	first struct{ APIKey string }
	later struct{ Password string }
	all   struct {
		Name string
		Key  string
		Keys []string
		//lint:ignore U1000 it is set, and listed, although it is not exported
		secret      string
		Endpoint    string
		BaseURLs    []string
		Env         []string
		MyEnv       string
		Header      http.Header
		URL         url.URL
		Proxy       *url.URL
		Headers     map[string]string
		Tokens      [5]string
		Raw         json.RawMessage
		Bytes       []byte
		PassBytes   []byte
		Auth        json.RawMessage
		Number      int
		Flag        bool
		Time        time.Time
		TimePointer *time.Time
		Inner       inner
		Pointer     *inner
		List        []inner
		Recursive   *recursive
		Any         any
		Err         error
		Doer        doer
		Func        func()
		Chan        chan int
		ByToken     map[string]int
		Deep        [][][]string
	}
	httpHeader     struct{ Value string }
	generic[T any] struct {
		Credential T
		Plain      T
	}
)

func (first) Do()  {}
func (*later) Do() {}

// show has all fields of a value that was made.
func show(v reflect.Value, at string, b *strings.Builder) {
	switch v.Kind() {
	case reflect.Struct:
		for i := range v.NumField() {
			show(v.Field(i), at+"."+v.Type().Field(i).Name, b)
		}
	case reflect.Pointer, reflect.Interface:
		if v.IsNil() {
			fmt.Fprintf(b, "%s nil\n", at)
			return
		}
		show(v.Elem(), at+"("+v.Elem().Type().String()+")", b)
	case reflect.Slice, reflect.Array:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			fmt.Fprintf(b, "%s %q\n", at, v.Bytes())
			return
		}
		fmt.Fprintf(b, "%s %d of %d\n", at, v.Len(), v.Cap())
		for i := range v.Len() {
			show(v.Index(i), fmt.Sprintf("%s[%d]", at, i), b)
		}
	case reflect.Map:
		for _, k := range v.MapKeys() {
			show(k, at+"{key}", b)
			show(v.MapIndex(k), at+"{value}", b)
		}
	case reflect.String:
		fmt.Fprintf(b, "%s %q\n", at, v.String())
	case reflect.Func, reflect.Chan:
		fmt.Fprintf(b, "%s nil %v\n", at, v.IsNil())
	default:
		fmt.Fprintf(b, "%s %v\n", at, v)
	}
}

var update = flag.Bool("update", false, "write the files in testdata anew")

func golden(t *testing.T, name, got string) {
	t.Helper()
	path := filepath.Join("testdata", name+".txt")
	if *update {
		require.NoError(t, os.MkdirAll("testdata", 0o755))
		require.NoError(t, os.WriteFile(path, []byte(got), 0o644))
	}
	want, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, strings.Split(string(want), "\n"), strings.Split(got, "\n"), "run with -update if it should be so")
}

// Values have secrets in the fields that may hold one, and something harmless everywhere else.
func TestValuesAreMade(t *testing.T) {
	pool := []reflect.Type{reflect.TypeFor[inner](), reflect.TypeFor[doer](), reflect.TypeFor[first](), reflect.TypeFor[later]()}
	var b strings.Builder
	for _, typ := range []reflect.Type{reflect.TypeFor[all](), reflect.TypeFor[generic[string]](), reflect.TypeFor[httpHeader](), reflect.TypeFor[recursive](), reflect.TypeFor[string](), reflect.TypeFor[time.Time](), reflect.TypeFor[[]inner](), reflect.TypeFor[doer]()} {
		for n := range 3 {
			if n > 0 && typ != reflect.TypeFor[doer]() {
				continue
			}
			m := &secrettest.Maker{Pool: pool, N: n, Seen: map[string]bool{}, Harmless: func(field string) bool { return field == "secrettest_test.all.Key" }}
			v, planted := m.Make(typ)
			require.True(t, v.CanAddr())
			require.Equal(t, len(m.Seen) > 0, planted)
			fmt.Fprintf(&b, "# %v, %d: planted %v in %v\n", typ, n, planted, slices.Sorted(maps.Keys(m.Seen)))
			show(v, "", &b)
			again, planted := (&secrettest.Maker{Pool: pool, N: n}).Make(typ)
			require.True(t, again.IsValid())
			_ = planted
		}
	}
	golden(t, "made", b.String())
}

// The names of fields tell what may be a secret.
func TestNamesOfSecrets(t *testing.T) {
	var b strings.Builder
	for _, name := range []string{
		"Key", "Keys", "APIKey", "KeyName", "Token", "Tokens", "TokenCount", "Secret", "Secrets", "Passwd", "Passwords", "Password", "PasswordHint", "Credential", "Credentials", "Auth", "Author", "Authorization", "Bearer",
		"Cookie", "Cookies", "DSN", "Header", "Headers", "HeaderName", "Env", "Environ", "Environment", "ExtraBody", "Passphrase", "Value", "Code", "State", "URL", "URLs", "Address", "Endpoint", "Proxy", "URI", "Name", "BaseURL", "ProxyMode", "Monkey",
	} {
		typ := reflect.StructOf([]reflect.StructField{{Name: name, Type: reflect.TypeFor[string]()}})
		m := &secrettest.Maker{Seen: map[string]bool{}}
		v, planted := m.Make(reflect.PointerTo(typ))
		fmt.Fprintf(&b, "%s %v %q\n", name, planted, v.Elem().Field(0).String())
	}
	golden(t, "names", b.String())
}

//lint:ignore U1000 its type matters
type locked struct{ mu sync.Mutex }

//lint:ignore U1000 its type matters
type holds struct{ l locked }

// Values with locks are not copied.
func TestLocks(t *testing.T) {
	for typ, want := range map[reflect.Type]bool{
		reflect.TypeFor[locked](): true, reflect.TypeFor[holds](): true, reflect.TypeFor[[2]holds](): true, reflect.TypeFor[sync.Mutex](): true, reflect.TypeFor[[]locked](): false,
		reflect.TypeFor[*locked](): false, reflect.TypeFor[struct{ P *locked }](): false, reflect.TypeFor[string](): false, reflect.TypeFor[inner](): false, reflect.TypeFor[[2]string](): false,
	} {
		require.Equal(t, want, secrettest.Locks(typ), typ)
	}
}

// Exported types of public packages are listed, with the constraints of their parameters as arguments.
func TestExportedTypesAreListed(t *testing.T) {
	dir := t.TempDir()
	for name, text := range map[string]string{
		"go.mod":             "module x\n",
		"b/b.go":             "package b\n\nimport \"context\"\n\nfunc F() {}\n\nvar V int\n\ntype B struct{}\n\ntype hidden int\n\ntype Alias = B\n\ntype (\n\tG[A, B any, C interface{ X() }] struct{}\n\tD[T deps.ACP] struct{}\n)\n\nvar _ context.Context\n",
		"b/b_test.go":        "package b\n\ntype InTest struct{}\n",
		"b/more.go":          "package b\n\ntype A int\n",
		"b/text.txt":         "type Text int",
		"a.go":               "package a\n\ntype Root int\n",
		"c/main.go":          "package main\n\ntype Program int\n",
		"d/d.go":             "package d\n\nvar x = 1\n",
		"e/go.mod":           "module e\n",
		"e/e.go":             "package e\n\ntype Other int\n",
		"internal/i.go":      "package i\n\ntype I int\n",
		"testdata/t.go":      "package t\n\ntype T int\n",
		"node_modules/n.go":  "package n\n\ntype N int\n",
		"examples/x/x.go":    "package x\n\ntype X int\n",
		"deps/d.go":          "package d\n\ntype D int\n",
		".git/g.go":          "package g\n\ntype G int\n",
		"f/internal/deep.go": "package i\n\ntype Deep int\n",
		"f/f.go":             "package f\n\ntype F int\n",
	} {
		path := filepath.Join(dir, filepath.FromSlash(name))
		require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o755))
		require.NoError(t, os.WriteFile(path, []byte(text), 0o644))
	}
	got, err := secrettest.Exported(dir, "at", "made")
	require.NoError(t, err)
	golden(t, "exported", string(got))
	got, err = secrettest.Exported(filepath.Join(dir, "f"), "", "made")
	require.NoError(t, err)
	golden(t, "exported_one", string(got))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "broken.go"), []byte("package"), 0o644))
	_, err = secrettest.Exported(dir, "at", "made")
	require.ErrorContains(t, err, "broken.go")
	_, err = secrettest.Exported(filepath.Join(dir, "nowhere"), "at", "made")
	require.ErrorIs(t, err, os.ErrNotExist)
}
