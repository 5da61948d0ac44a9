// SPDX-License-Identifier: Apache-2.0

package workspace

import (
	"strings"
	"unicode"
)

func hasDrive(name string) bool {
	return len(name) >= 2 && name[1] == ':' && ('a' <= name[0]|0x20 && name[0]|0x20 <= 'z')
}

func absWindows(dir, name string) (string, error) {
	name, dir = strings.ReplaceAll(name, "/", `\`), strings.ReplaceAll(dir, "/", `\`)
	if len(name) >= 8 && strings.EqualFold(name[:8], `\\?\UNC\`) { // the long form of \\server\share
		name = `\\` + name[8:]
	} else if rest, ok := strings.CutPrefix(name, `\\?\`); ok && hasDrive(rest) {
		name = rest
	}
	if strings.HasPrefix(name, `\\?\`) || strings.HasPrefix(name, `\\.\`) || strings.HasPrefix(name, `\??\`) {
		return "", malformed("the path names a device")
	}
	volume, rest := splitVolume(name)
	switch {
	case hasDrive(name) && !strings.HasPrefix(rest, `\`):
		return "", malformed("the path is relative to a drive; use an absolute path")
	case strings.HasPrefix(name, `\\`):
		if server, share, _ := strings.Cut(volume[2:], `\`); server == "" || share == "" {
			return "", malformed("the path needs a server and a share")
		}
	case volume == "" && strings.HasPrefix(name, `\`):
		volume, _ = splitVolume(dir)
	case volume == "":
		var base string
		volume, base = splitVolume(dir)
		rest = base + `\` + name
	}
	var parts []string
	for part := range strings.SplitSeq(rest, `\`) {
		switch {
		case part == "" || part == ".":
		case part == "..":
			parts = parts[:max(0, len(parts)-1)]
		default:
			if err := checkWindowsName(part); err != nil {
				return "", err
			}
			parts = append(parts, part)
		}
	}
	if strings.HasPrefix(volume, `\\`) {
		for part := range strings.SplitSeq(volume[2:], `\`) {
			if err := checkWindowsName(part); err != nil || part == "." || part == ".." {
				return "", malformed("the path has no valid server and share")
			}
		}
	}
	return volume + `\` + strings.Join(parts, `\`), nil
}

// checkWindowsName refuses names that Windows would change, or that mean something other than a
// file. A colon names a stream of a file, and dots and blanks at the end are dropped:
// different names would be one file.
func checkWindowsName(part string) error {
	if part != strings.TrimRight(part, ". ") {
		return malformed("Windows does not allow the name %q: it ends with a dot or a blank", part)
	}
	if i := strings.IndexFunc(part, func(r rune) bool { return r < ' ' || strings.ContainsRune(`<>:"|?*`, r) }); i >= 0 {
		return malformed("Windows does not allow the name %q: it contains %q", part, part[i])
	}
	base, _, _ := strings.Cut(part, ".")
	base = strings.ToUpper(strings.TrimRight(base, " "))
	if windowsDevices[base] {
		return malformed("%q is the name of a device on Windows", part)
	}
	return nil
}

// windowsDevices are names that mean devices in every directory, whatever their extension.
var windowsDevices = func() map[string]bool {
	names := map[string]bool{"CON": true, "PRN": true, "AUX": true, "NUL": true, "CONIN$": true, "CONOUT$": true}
	for _, n := range []string{"0", "1", "2", "3", "4", "5", "6", "7", "8", "9", "¹", "²", "³"} {
		names["COM"+n], names["LPT"+n] = true, true
	}
	return names
}()

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

// foldWindows maps letters to upper case one by one, as file systems of Windows do. Letters
// outside of ASCII never meet ASCII ones: the Kelvin sign is no K.
func foldWindows(name string) string {
	return strings.Map(func(r rune) rune {
		if up := unicode.ToUpper(r); r < 0x80 || up >= 0x80 {
			return up
		}
		return r
	}, name)
}
