// SPDX-License-Identifier: Apache-2.0

package form_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/acpbridge/acp"
	"github.com/ponte-go/ponte/app/internal/term/form"
)

const trip = `{"type": "object", "required": ["city", "days"], "properties": {
	"city": {"type": "string", "title": "City", "description": "Where\u202eto", "minLength": 2, "pattern": "^[A-Z]"},
	"days": {"type": "integer", "minimum": 1, "maximum": 14, "default": 12},
	"budget": {"type": "number", "minimum": 0.5},
	"rain": {"type": "boolean", "default": false},
	"mail": {"type": "string", "format": "email"},
	"class": {"type": "string", "oneOf": [{"const": "1", "title": "First", "description": "dear"}, {"const": "2", "title": "Second"}]},
	"seat": {"type": "string", "enum": ["window", "aisle"]},
	"meals": {"type": "array", "minItems": 1, "maxItems": 2, "items": {"type": "string", "enum": ["noon", "night", "tea"]}, "default": ["noon"]}}}`

func fields(t *testing.T) map[string]*form.Field {
	t.Helper()
	var f acp.ElicitationSchema // as it comes from an agent
	require.NoError(t, json.Unmarshal([]byte(trip), &f))
	all := form.Fields(&f)
	byName := map[string]*form.Field{}
	var order []string
	for i := range all {
		byName[all[i].Name] = &all[i]
		order = append(order, all[i].Name)
	}
	require.Equal(t, "city days budget class mail meals rain seat", strings.Join(order, " "))
	return byName
}

func TestFieldsSayWhatTheyWant(t *testing.T) {
	all := fields(t)
	for name, want := range map[string]string{
		"city":  "City: Where⟨U+202E⟩to\n(text)",
		"days":  "days\n(a whole number; nothing for 12)",
		"rain":  "rain\n(yes or no; nothing for no)",
		"mail":  "mail\n(email; nothing to leave it out)",
		"class": "class\n  1  First: dear\n  2  Second\n(a number or a value; nothing to leave it out)",
		"meals": "meals\n  1  noon\n  2  night\n  3  tea\n(numbers or values, separated by commas; nothing for noon)",
	} {
		require.Equal(t, want, strings.Join(all[name].Lines(), "\n"))
	}
}

func TestAnswersAreRead(t *testing.T) {
	all := fields(t)
	for _, c := range []struct{ field, line, want string }{
		{"city", " Bergen ", `"Bergen"`}, {"city", "", "error: City is required"}, {"city", "B", "error: City must have a number of characters that is at least 2"},
		{"city", "bergen", "error: City must match ^[A-Z]"},
		{"days", "3", "3"}, {"days", "", "12"}, {"days", "15", "error: days must be at most 14"}, {"days", "x", "error: days must be a whole number"},
		{"budget", "", "left out"}, {"budget", "1e2", "100"}, {"budget", "0", "error: budget must be at least 0.5"}, {"budget", "much", "error: budget must be a number"},
		{"rain", "Yes", "true"}, {"rain", "", "false"}, {"rain", "maybe", "error: rain must be yes or no"},
		{"class", "2", `"2"`}, {"class", "first", `"1"`}, {"class", "3", `error: class must be one of ["1" "2"]`},
		{"seat", "2", `"aisle"`}, {"seat", "window", `"window"`}, {"seat", "", "left out"},
		{"meals", "1, night", `["noon","night"]`}, {"meals", "", `["noon"]`}, {"meals", "1,2,3", "error: meals must have a number of items that is at most 2"},
		{"meals", "4", `error: meals must not contain "4", which was not offered`},
	} {
		v, set, err := all[c.field].Read(c.line)
		got := "left out"
		if err != nil {
			got = "error: " + err.Error()
		} else if set {
			data, err := json.Marshal(v)
			require.NoError(t, err)
			got = string(data)
		}
		require.Equal(t, c.want, got, "%s: %q", c.field, c.line)
	}
}

// TestAnswersMeanWhatIsShown has choices and defaults that could be taken for something else.
func TestAnswersMeanWhatIsShown(t *testing.T) {
	var f acp.ElicitationSchema
	require.NoError(t, json.Unmarshal([]byte(`{"type": "object", "properties": {
		"cities": {"type": "array", "items": {"type": "string", "enum": ["Oslo, Norway", "Rome"]}, "default": ["Oslo, Norway"]},
		"degrees": {"type": "number"},
		"hours": {"type": "string", "enum": ["10", "3", "2"]},
		"hidden": {"type": "string", "oneOf": [{"const": "x", "title": "First"}, {"const": "1", "title": "Second"}]},
		"twice": {"type": "string", "oneOf": [{"const": "a", "title": "Same"}, {"const": "b", "title": "Same"}]},
		"quote": {"type": "string", "title": "Quote", "pattern": "^field \"quote\"$"},
		"word": {"type": "string", "enum": ["1", "one"], "default": "one"}}}`), &f))
	all := map[string]*form.Field{}
	for _, one := range form.Fields(&f) {
		all[one.Name] = &one
	}
	require.Equal(t, "hours\n  10\n  3\n  2\n(a value; nothing to leave it out)", strings.Join(all["hours"].Lines(), "\n"))
	for _, c := range []struct{ field, line, want string }{
		{"cities", "", `["Oslo, Norway"]`}, {"cities", "1,2", `["Oslo, Norway","Rome"]`},
		{"degrees", "NaN", "degrees must be a finite number"}, {"degrees", "-Inf", "degrees must be a finite number"},
		{"hours", "2", `"2"`}, {"hours", "1", `hours must be one of ["10" "3" "2"]`},
		{"hidden", "1", `"1"`}, {"hidden", "first", `"x"`}, {"hidden", "2", `hidden must be one of ["x" "1"]`},
		{"twice", "2", `"b"`}, {"twice", "same", `twice must be one of ["a" "b"]`},
		{"quote", "x", `Quote must match ^field "quote"$`}, {"quote", `field "quote"`, `"field \"quote\""`},
		{"word", "", `"one"`}, {"word", "1", `"1"`}, {"word", "2", `"one"`},
	} {
		v, _, err := all[c.field].Read(c.line)
		if err != nil {
			require.Equal(t, c.want, err.Error(), "%s: %q", c.field, c.line)
			continue
		}
		data, err := json.Marshal(v)
		require.NoError(t, err)
		require.Equal(t, c.want, string(data), "%s: %q", c.field, c.line)
	}
}
