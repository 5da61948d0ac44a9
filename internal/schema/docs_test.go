// SPDX-License-Identifier: Apache-2.0

package schema_test

import (
	"encoding/json"
	"fmt"
	"net/netip"
	"os"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/schema"
)

// fieldTypes are the types of fields that docs/validation.md speaks of.
var fieldTypes = map[string]reflect.Type{
	"bool": reflect.TypeFor[bool](), "int": reflect.TypeFor[int](), "int64": reflect.TypeFor[int64](), "uint8": reflect.TypeFor[uint8](),
	"float64": reflect.TypeFor[float64](), "string": reflect.TypeFor[string](), "*int": reflect.TypeFor[*int](), "any": reflect.TypeFor[any](),
	"[]byte": reflect.TypeFor[[]byte](), "[]int": reflect.TypeFor[[]int](), "[]string": reflect.TypeFor[[]string](), "[2]int": reflect.TypeFor[[2]int](),
	"map[string]int": reflect.TypeFor[map[string]int](), "time.Time": reflect.TypeFor[time.Time](), "time.Duration": reflect.TypeFor[time.Duration](),
	"json.RawMessage": reflect.TypeFor[json.RawMessage](), "netip.Addr": reflect.TypeFor[netip.Addr](),
	"chan int": reflect.TypeFor[chan int](), "func()": reflect.TypeFor[func()](), "map[int]string": reflect.TypeFor[map[int]string](),
	"map[float64]string": reflect.TypeFor[map[float64]string](), "[][]int": reflect.TypeFor[[][]int](),
	"fmt.Stringer": reflect.TypeFor[fmt.Stringer](),
}

var inCode = regexp.MustCompile("`([^`]*)`")

// tables returns the rows of a page's tables whose first columns are the given ones, cell by cell.
func tables(t *testing.T, file string, columns ...string) [][]string {
	t.Helper()
	page, err := os.ReadFile(file)
	require.NoError(t, err)
	var rows [][]string
	wanted := false
	for line := range strings.Lines(string(page)) {
		line = strings.TrimSpace(line)
		if !strings.HasPrefix(line, "|") {
			wanted = false
			continue
		}
		line = strings.ReplaceAll(strings.Trim(line, "|"), `\|`, "\x00")
		cells := strings.Split(line, "|")
		for i := range cells {
			cells[i] = strings.ReplaceAll(strings.TrimSpace(cells[i]), "\x00", "|")
		}
		switch {
		case strings.HasPrefix(line, "---"):
		case reflect.DeepEqual(cells, columns):
			wanted = true
		case wanted:
			require.Len(t, cells, len(columns), line)
			rows = append(rows, cells)
		}
	}
	require.NotEmpty(t, rows)
	return rows
}

// values returns what stands in code in a cell, and whether the cell speaks of an absent field.
func values(cell string) (texts []string, absent bool) {
	for _, m := range inCode.FindAllStringSubmatch(cell, -1) {
		texts = append(texts, m[1])
	}
	return texts, strings.Contains(inCode.ReplaceAllString(cell, ""), "absent")
}

// structOf makes the struct that a row of docs/validation.md speaks of.
func structOf(t *testing.T, tag, goType string) reflect.Type {
	t.Helper()
	name, _ := values(goType)
	typ, ok := fieldTypes[name[0]]
	require.True(t, ok, "the test does not know the type %s", goType)
	tag = strings.Trim(tag, "`")
	if !strings.Contains(tag, `json:"`) {
		tag = strings.TrimSpace(`json:"v" ` + tag)
	}
	return reflect.StructOf([]reflect.StructField{{Name: "V", Type: typ, Tag: reflect.StructTag(tag)}})
}

func TestValidationPageIsTrue(t *testing.T) {
	rows := tables(t, "../../docs/validation.md", "Tag", "Type of the field", "Schema of the field", "Accepted", "Refused")
	require.Greater(t, len(rows), 80)
	for _, row := range rows {
		t.Run(row[0]+" "+row[1], func(t *testing.T) {
			st := structOf(t, row[0], row[1])
			typ, err := schema.For(st)
			require.NoError(t, err)
			var shown struct{ Properties map[string]json.RawMessage }
			require.NoError(t, json.Unmarshal(typ.JSON(), &shown))
			if text, _ := values(row[2]); text == nil {
				require.Equal(t, "not shown", row[2])
				require.Empty(t, shown.Properties)
			} else {
				require.Equal(t, text[0], string(shown.Properties["v"]))
			}
			decode := func(text string) error { return typ.Decode([]byte(text), reflect.New(st).Interface()) }
			for i, check := range []func(require.TestingT, error, ...any){require.NoError, require.Error} {
				texts, absent := values(row[3+i])
				require.True(t, absent || texts != nil, "an example is missing")
				if absent {
					check(t, decode(`{}`), "absent")
				}
				for _, text := range texts {
					require.True(t, json.Valid([]byte(text)), "%s is not JSON", text)
					check(t, decode(`{"v":`+text+`}`), text)
				}
			}
		})
	}
}

func TestValidationPageSaysWhatIsRefused(t *testing.T) {
	for _, row := range tables(t, "../../docs/validation.md", "Tag", "Type of the field", "The error says") {
		_, err := schema.For(structOf(t, row[0], row[1]))
		require.ErrorContains(t, err, strings.Trim(row[2], "`"), "%s %s", row[0], row[1])
	}
}

func TestValidationPageIsComplete(t *testing.T) {
	page, err := os.ReadFile("../../docs/validation.md")
	require.NoError(t, err)
	keywords, named := schema.TagNames()
	for _, name := range keywords {
		require.Regexp(t, "[`\",]"+regexp.QuoteMeta(name)+"[`=]", string(page), "keyword %s", name)
	}
	for _, name := range named {
		require.Contains(t, string(page), "`validate:\""+name+"\"`")
	}
}

func TestToolsPageSaysWhatIsRepaired(t *testing.T) {
	type order struct {
		Item   string `json:"item" validate:"required"`
		Count  int    `json:"count" validate:"min=1,max=10"`
		Urgent bool   `json:"urgent,omitempty"`
	}
	for _, row := range tables(t, "../../docs/tools.md", "The model wrote", "The tool gets") {
		written, _ := values(row[0])
		fixed, ok := schema.Repair([]byte(written[0]), true, fits[order](t))
		if strings.HasPrefix(row[1], "nothing") {
			require.False(t, ok, written[0])
			continue
		}
		require.Equal(t, strings.Trim(row[1], "`"), string(fixed))
	}
}
