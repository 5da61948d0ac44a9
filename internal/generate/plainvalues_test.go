// SPDX-License-Identifier: Apache-2.0

package generate_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/internal/generate"
)

// written returns the values of a schema for some seeds, or the errors.
func written(schema string, seeds ...uint64) (line string) {
	for _, seed := range seeds {
		got, err := generate.Seeded(json.RawMessage(schema), seed)
		if err != nil {
			got = []byte(err.Error())
		}
		line += "\t" + string(got)
	}
	return schema + line + "\n"
}

// TestNumbersWithinBounds compares numbers for bounds of all kinds, and does the sums that they must keep.
func TestNumbersWithinBounds(t *testing.T) {
	var b strings.Builder
	rat := func(text string) *big.Rat {
		r, ok := new(big.Rat).SetString(text)
		require.True(t, ok, text)
		return r
	}
	for _, low := range []string{"", "-10.5", "-1", "0", "0.3", "2"} {
		for _, lowest := range []string{"minimum", "exclusiveMinimum"} {
			for _, high := range []string{"", "-1", "0", "0.4", "2", "7.5"} {
				for _, highest := range []string{"maximum", "exclusiveMaximum"} {
					for _, kind := range []string{`"integer"`, `"number"`, `"number","multipleOf":0.4`, `"integer","multipleOf":2.5`} {
						if low == "" && lowest != "minimum" || high == "" && highest != "maximum" {
							continue
						}
						schema := `{"type":` + kind
						if low != "" {
							schema += `,"` + lowest + `":` + low
						}
						if high != "" {
							schema += `,"` + highest + `":` + high
						}
						line := written(schema+"}", 0, 3)
						b.WriteString(line)
						for _, text := range strings.Split(strings.TrimSuffix(line, "\n"), "\t")[1:] {
							if strings.HasPrefix(text, "no value") {
								continue
							}
							n := rat(text)
							require.True(t, low == "" || n.Cmp(rat(low)) > 0 || lowest == "minimum" && n.Cmp(rat(low)) == 0, line)
							require.True(t, high == "" || n.Cmp(rat(high)) < 0 || highest == "maximum" && n.Cmp(rat(high)) == 0, line)
							require.True(t, n.IsInt() || !strings.Contains(kind, "integer"), line)
							if _, step, ok := strings.Cut(kind, "multipleOf\":"); ok {
								require.True(t, new(big.Rat).Quo(n, rat(step)).IsInt(), line)
							}
						}
					}
				}
			}
		}
	}
	for _, least := range []string{"1", "2.5", "3"} { // the stricter one of two bounds counts
		for _, above := range []string{"1", "2.5", "3"} {
			for _, kind := range []string{"integer", "number"} {
				for _, sign := range []string{"", "-"} {
					lower, greater := []string{"minimum", "exclusiveMinimum"}, []string{"maximum", "exclusiveMaximum"}
					if sign != "" {
						lower, greater = greater, lower
					}
					b.WriteString(written(fmt.Sprintf(`{"type":%q,%q:%s%s,%q:%s%s}`, kind, lower[0], sign, least, lower[1], sign, above), 0, 3))
					b.WriteString(written(fmt.Sprintf(`{"type":%q,%q:%s%s,%q:%s%s,%q:%s3.5}`, kind, lower[0], sign, least, lower[1], sign, above, greater[0], sign), 0, 3))
				}
			}
		}
	}
	golden(t, "testdata/numbers.golden", b.String())
}

// TestStringsOfFormatsAndPatterns compares strings of all formats, and of patterns, with and without bounds of their lengths.
func TestStringsOfFormatsAndPatterns(t *testing.T) {
	var b strings.Builder
	lengths := []string{"", `,"minLength":30`, `,"maxLength":12`, `,"minLength":5,"maxLength":6`}
	for _, length := range lengths {
		for _, format := range []string{
			"date-time", "date", "time", "duration", "email", "idn-email", "hostname", "idn-hostname", "uri", "url", "iri", "uri-reference", "iri-reference", "json-pointer", "byte", "uuid", "ipv4", "ipv6",
		} {
			b.WriteString(written(`{"format":"`+format+`"`+length+"}", 0, 3, 99))
		}
		b.WriteString(written(`{"contentEncoding":"base64"`+length+"}", 0, 3, 99))
		b.WriteString(written(`{"type":"string"`+length+"}", 0, 3, 99))
		for _, pattern := range []string{
			"a", "^a", "a$", "^a$", "^a?$", "^a*$", "^a+$", "^a{2}$", "^a{2,}$", "^a{0,3}$", "^a{3,7}b?$", "^(a|bc|def)$", "^(a|b)*(c|d)+$", "[a-c]", "^[0-9]+$", "^[0-9]{3}$", "^0$", "^[^a]$", "^[é-ü]+$", ".", "^.*$", "^.+x$", "^$", "x.y",
			"^(?i)ab$", `^\d\d-\w\s$`, `\bword\b`, `^(ab){2,3}$`, `^((a|b){2}c?)+$`, "^a*b*c*$", "^(x*)y(z*)$", "[[:alpha:]][[:digit:]]", `^\x{1F600}+$`, "^[-_ ]+$", "^[0]+$", "^[9-0]$", "^(?:)$", "a|b|c", "(|a)b",
		} {
			quoted, err := json.Marshal(pattern)
			require.NoError(t, err)
			b.WriteString(written(`{"pattern":`+string(quoted)+length+"}", 0, 3, 99))
		}
		for _, both := range [][2]string{{"^a", "b$"}, {"a$", "^b"}, {"^a+", "^.*[0-9]{2}$"}, {"x", "y"}, {"^[a-z]+$", "q"}, {"^a*$", "b"}, {"[0-9]", "("}, {"^abc", "^a"}, {"c$", "abc$"}, {"^(a|b)$", "b"}} {
			b.WriteString(written(fmt.Sprintf(`{"allOf":[{"pattern":%q},{"pattern":%q}],"type":"string"%s}`, both[0], both[1], length), 0, 3, 99))
		}
	}
	golden(t, "testdata/strings.golden", b.String())
}
