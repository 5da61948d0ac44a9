// SPDX-License-Identifier: Apache-2.0

package workspacetest

import (
	"net/url"
	"strings"

	"github.com/ponte-go/ponte/toolset/workspace"
)

// Escape is a path that must not lead anywhere.
type Escape struct {
	// Name is the path as a model would write it.
	Name string
	// Link is set if the last name is itself a link in the workspace. Removing it removes the link,
	// which is allowed.
	Link bool
}

// Links returns the symbolic links that [Escapes] goes through, by path, with their targets. They
// are to be made in the first root of a workspace with the directory outside.
func Links(ws workspace.Workspace, outside string) map[string]string {
	root := ws.Roots()[0]
	style := workspace.StyleOf(root)
	up, base := style.Parent(root), style.Parent(outside)
	links := map[string]string{
		"out": outside, "secretlink": style.Join(outside, "secret"), "dangling": style.Join(outside, "new"), "chain": "out",
		"parent": "..", "grandparent": "real/../..", "dots": "real/./../../" + lastName(up, root) + "/..", "base": base, "top": style.Parent(base),
		"deep/out": outside, "deep/chain": "../chain", "viareal": "real/../out", "danglingdir": style.Join(outside, "newdir"), "self": root,
	}
	if base == up {
		links["sibling"] = "../" + lastName(base, outside)
		links["siblingsecret"] = "../" + lastName(base, outside) + "/secret"
	}
	return links
}

func lastName(parent, path string) string {
	style := workspace.StyleOf(path)
	return style.Rel(parent, path)
}

// Escapes returns paths that lead out of a workspace, or that are malformed. There must be a
// directory outside with the files secret and sub/secret, the directory real in the first root,
// and there the links that [Links] returns, unless the machine has none.
func Escapes(ws workspace.Workspace, outside string) []Escape {
	root := ws.Roots()[0]
	style := workspace.StyleOf(root)
	if style == workspace.Windows {
		return escapesWindows(ws, outside)
	}
	secret := outside + "/secret"
	relative := relativeTo(root, outside)
	name := lastName(style.Parent(root), root)
	var all []Escape
	add := func(names ...string) {
		for _, n := range names {
			all = append(all, Escape{Name: n})
		}
	}
	link := func(names ...string) {
		for _, n := range names {
			all = append(all, Escape{Name: n, Link: true})
		}
	}
	// Absolute and relative.
	add(secret, outside, outside+"/", outside+"/.", outside+"/sub/../secret", outside+"/new", "//"+secret[1:], "/."+secret, "/.."+secret, secret+"/",
		relative+"/secret", relative, relative+"/", relative+"/new", "./"+relative+"/secret", "real/../"+relative+"/secret", "real/./../"+relative+"/secret",
		"missing/../"+relative+"/secret", "real//..//"+relative+"//secret", root+"/"+relative+"/secret", root+"/real/../"+relative+"/new",
		"..", "../", "../..", "../../../../../../../..", "real/../..", "./..", "/", "//", "/.", "/..", "..//", "../"+name+"2", "../"+name+"2/x", root+"2", root+"2/secret",
		root+"/../"+name+" /secret", root+".", "../"+strings.ToUpper(name)+"x/secret",
		"/etc/passwd", "//etc/passwd", "/./etc/passwd", "/etc/../etc/passwd", "/proc/self/environ", "/proc/self/root/etc/passwd", "/proc/self/cwd/../x", "/dev/null",
		"/dev/stdin", "/dev/fd/0", "/sys/kernel", "/tmp/../etc/passwd", "../../../../../../../../../../../../etc/passwd")
	// File URIs.
	encoded := strings.ReplaceAll(url.PathEscape(secret), "%2F", "/")
	add("file://"+encoded, "FILE://"+encoded, "file:"+encoded, "file://localhost"+encoded, "file:///etc/passwd", "file://"+root+"/../x/secret",
		"file://"+root+"/%2e%2e/"+lastName(style.Parent(outside), outside)+"/secret", "file://"+root+"/%2E%2E%2Fsecret", "file://"+root+"/..%2f..%2fetc", "file://"+root+"%2f..%2fsecret",
		"file://"+root+"/real%00", "file://"+root+"/real?x", "file://"+root+"/real#x/y", "file://"+root+"/%zz", "file://host"+root+"/real", "file:real", "file:", "file:/", "file:///",
		"file://", "file:../secret", "file://../secret", "file:////etc/passwd", "fiLe:"+secret)
	// What no path has.
	add(
		"", "\x00", "real\x00", secret+"\x00", "real/\x00/x", relative+"/secret\x00.txt",
		strings.Repeat("a", 5000), strings.Repeat("../", 40)+"etc/passwd",
		strings.Repeat("x/", 3000),
	)
	// Links.
	add("out/secret", "out/new", "out/sub/secret", "out/./secret", "out//secret", "out/sub/../secret", "chain/secret", "chain/new", "deep/out/secret", "deep/chain/secret", "viareal/secret",
		"self/out/secret", "self/self/chain/secret", "real/../out/secret", root+"/out/secret", root+"/self/out/new", "base/"+lastName(style.Parent(outside), outside)+"/secret", "danglingdir/x",
		"parent/x", "grandparent/x", "dots/x", "out/missing/deep", "self/parent/x", "self/self/self/out/sub/secret", "file://"+root+"/out/secret", "file://"+root+"/%6fut/secret", "top/x")
	link(
		"out", "out/", "out/.", "secretlink", "dangling", "chain", "parent", "grandparent", "dots",
		"base", "deep/out", "self/out", "viareal", "danglingdir", root+"/secretlink",
		"self/dangling", "top",
	)
	if style.Parent(outside) == style.Parent(root) {
		add("sibling/secret", "sibling/new", "parent/"+lastName(style.Parent(outside), outside)+"/secret")
		link("sibling", "siblingsecret")
	}
	return all
}

// escapesWindows are the escapes of a workspace with Windows paths.
func escapesWindows(ws workspace.Workspace, outside string) []Escape {
	root := ws.Roots()[0]
	style := workspace.StyleOf(root)
	secret := style.Join(outside, "secret")
	slashed := strings.ReplaceAll(secret, `\`, "/")
	var all []Escape
	for _, n := range []string{
		secret, outside, outside + `\`, slashed, strings.ToUpper(secret), strings.ToLower(secret), `\\?\` + secret, `//?/` + slashed, secret[2:], slashed[2:], `..`, `..\..`, `..\x`, `../x`,
		`real\..\..\x`, `real/..\../x`, root + `\..\x`, root + `2`, root + `2\x`, root + `\real\..\..\x`, `\`, `/`, `C:\`, `D:\x`, `c:/windows/system32/x`, `C:x`, `C:..\x`, `C:`, `d:x`,
		`\\srv\share\x`, `//srv/share/x`, `\\?\UNC\srv\share\x`, `\\?\unc\srv\share\x`, `\\localhost\C$\x`, `\\127.0.0.1\c$\x`, `\\srv`, `\\srv\`, `\\`, `\\.\C:\x`, `\\.\PhysicalDrive0`,
		`\\.\pipe\x`, `\\?\GLOBALROOT\Device\x`, `\\?\Volume{1}\x`, `\??\C:\x`, `//./C:/x`, `NUL`, `nul`, `CON`, `con.txt`, `sub\AUX`, `prn.log`, `COM1`, `com9.txt`, `LPT1`, `LPT¹`, `COM³.x`, `CONIN$`,
		`CONOUT$`, `NUL .txt`, `nul.tar.gz`, `real\nul`, `a:b`, `a.txt:stream`, `a.txt::$DATA`, `real::$INDEX_ALLOCATION`, `a.`, `a `, `a...`, `real.\x`, `.. \x`, `... \x`, `..\real \x`, `a*`, `a?b`, `a<b`, `a>b`,
		`a|b`, `a"b`, "a\x01b", "a\nb", "", "a\x00b", `file:///` + slashed, `file://localhost/` + slashed, `FILE:///` + slashed, `file:///C:/../x`, `file:///C:/Windows/x`, `file:///etc/passwd`,
		`file://srv/share/x`, `file:////srv/share/x`, `file:///C:/%2e%2e/x`, `file:///C:/a%5Cb`, `file:///C:/a%2Fb`, `file:///C%3A/x`, `file:///C|/x`, `file:C:/x`, `file:///` + strings.ReplaceAll(root, `\`, "/") + `/NUL`,
		`file:///` + strings.ReplaceAll(root, `\`, "/") + `/a%3Ab`, "\u212a:\\x", `é:\x`, strings.Repeat("a", 5000),
		`out\secret`, `out/secret`, `OUT\SECRET`, `Out/new`, `chain\secret`, `deep\out\secret`, `self\out\secret`, `parent\x`, `danglingdir\x`, root + `\OUT\secret`,
	} {
		all = append(all, Escape{Name: n})
	}
	for _, n := range []string{`out`, `OUT`, `out\`, `secretlink`, `SecretLink`, `dangling`, `chain`, `deep/out`} {
		all = append(all, Escape{Name: n, Link: true})
	}
	return all
}

// relativeTo returns the slash path to relative to from.
func relativeTo(from, to string) string {
	a, b := strings.Split(strings.Trim(from, "/"), "/"), strings.Split(strings.Trim(to, "/"), "/")
	for len(a) > 0 && len(b) > 0 && a[0] == b[0] {
		a, b = a[1:], b[1:]
	}
	return strings.Repeat("../", len(a)) + strings.Join(b, "/")
}
