// SPDX-License-Identifier: Apache-2.0

package arch

import (
	"flag"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var fix = flag.Bool("fix", false, "add the licence line to files that have none")

const licence = "SPDX-License-Identifier: Apache-2.0"

// commented are the files that need the line, by extension or whole path, with the sign that begins a comment.
var commented = map[string]string{
	".go": "//", ".mjs": "//", ".py": "#", ".sh": "#", ".yml": "#", ".yaml": "#", ".ci/run": "#", ".editorconfig": "#", ".gitattributes": "#",
}

func TestFilesHaveLicenceLine(t *testing.T) {
	found := 0
	files(t, func(file string) {
		sign, ok := commented[file]
		if !ok {
			sign, ok = commented[path.Ext(file)]
		}
		// The demo stands for a user's project, which an agent reads and changes.
		if !ok || strings.HasPrefix(file, "examples/demo/") {
			return
		}
		found++
		text, line := read(t, file), sign+" "+licence
		first, rest, _ := strings.Cut(text, "\n")
		if strings.HasPrefix(first, "#!") {
			first, _, _ = strings.Cut(rest, "\n")
		}
		if first == line {
			return
		}
		if !*fix {
			t.Errorf("%s does not begin with %q: run go test ./internal/arch -run TestFilesHaveLicenceLine -fix", file, line)
			return
		}
		if sign == "//" {
			line += "\n" // or it would become part of the package's documentation
		}
		shebang := ""
		if strings.HasPrefix(text, "#!") {
			shebang, text, _ = strings.Cut(text, "\n")
			shebang += "\n"
		}
		name := filepath.Join("..", "..", filepath.FromSlash(file))
		info, err := os.Stat(name)
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(name, []byte(shebang+line+"\n"+text), info.Mode()))
	})
	require.NotZero(t, found)
}
