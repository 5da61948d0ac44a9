// SPDX-License-Identifier: Apache-2.0

package acpbridge

import (
	"runtime"
	"strings"

	"github.com/ponte-go/ponte/toolset"
)

// isWindowsPath reports whether an absolute path is one of Windows: it begins with a drive, or with a server and a share.
func isWindowsPath(name string) bool {
	return hasDrive(name) || strings.HasPrefix(name, `\\`)
}

func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && ('a' <= name[0]|0x20 && name[0]|0x20 <= 'z')
}

// windowsPaths are the rules of Windows. Paths are given with backslashes, and compared without regard to case.
type windowsPaths struct{}

func (windowsPaths) abs(dir, name string) (string, error) {
	if err := checkName(name); err != nil {
		return "", err
	}
	name, dir = strings.ReplaceAll(name, "/", `\`), strings.ReplaceAll(dir, "/", `\`)
	for _, prefix := range []string{`\\?\UNC\`, `\\?\unc\`} { // the long form of \\server\share
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			name = `\\` + rest
		}
	}
	if rest, ok := strings.CutPrefix(name, `\\?\`); ok && hasDrive(rest) {
		name = rest
	}
	volume, rest := splitVolume(name)
	switch {
	case strings.HasPrefix(name, `\\?\`) || strings.HasPrefix(name, `\\.\`):
		return "", toolset.Failed("The path %s names a device.", name)
	case hasDrive(name) && !strings.HasPrefix(rest, `\`):
		return "", toolset.Failed("The path %s is relative to a drive; give an absolute one.", name)
	case volume == "" && strings.HasPrefix(name, `\`):
		volume, _ = splitVolume(dir)
	case volume == "":
		base := ""
		volume, base = splitVolume(dir)
		rest = base + `\` + name
	}
	var parts []string
	for part := range strings.SplitSeq(rest, `\`) {
		switch {
		case part == "" || part == ".":
		case part == "..":
			parts = parts[:max(0, len(parts)-1)]
		case strings.ContainsRune(part, ':') || part != strings.TrimRight(part, ". "):
			// A colon names a stream of a file; Windows drops dots and blanks at the end, so that names which differ meet.
			return "", toolset.Failed("The path %s has a part that Windows would change: %q.", name, part)
		default:
			parts = append(parts, part)
		}
	}
	return volume + `\` + strings.Join(parts, `\`), nil
}

// splitVolume cuts a drive, or a server and its share, off a path with backslashes.
func splitVolume(name string) (volume, rest string) {
	if hasDrive(name) {
		return strings.ToUpper(name[:1]) + ":", name[2:]
	}
	if !strings.HasPrefix(name, `\\`) {
		return "", name
	}
	server, rest, _ := strings.Cut(name[2:], `\`)
	share, rest, more := strings.Cut(rest, `\`)
	if more {
		rest = `\` + rest
	}
	return `\\` + server + `\` + share, rest
}

func (p windowsPaths) contains(dir, name string) bool {
	dir, name = strings.TrimSuffix(p.fold(dir), `\`), p.fold(name)
	return strings.TrimSuffix(name, `\`) == dir || strings.HasPrefix(name, dir+`\`)
}

func (p windowsPaths) rel(dir, name string) string {
	dir = strings.TrimSuffix(dir, `\`)
	if len(name) <= len(dir)+1 || !p.contains(dir, name) {
		return name
	}
	return name[len(dir)+1:]
}

func (windowsPaths) parent(name string) string {
	volume, rest := splitVolume(name)
	end := max(strings.LastIndexByte(rest, '\\'), 0)
	if end == 0 {
		return volume + `\`
	}
	return volume + rest[:end]
}

func (windowsPaths) fold(name string) string { return strings.ToLower(name) }

func (windowsPaths) native() bool { return runtime.GOOS == "windows" }
