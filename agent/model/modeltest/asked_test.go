// SPDX-License-Identifier: Apache-2.0

package modeltest_test

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ponte-go/ponte/agent/model"
	"github.com/ponte-go/ponte/agent/model/modeltest"
)

// brief shortens a text, and tells whether the rest is the same.
func brief(text string) string {
	if len(text) <= 300 {
		return text
	}
	return fmt.Sprintf("%s… %d bytes %.6x", strings.ToValidUTF8(text[:200], ""), len(text), sha256.Sum256([]byte(text)))
}

// inWords returns a request with what its JSON hides.
func inWords(req *model.Request) string {
	if s := req.Settings; s != nil && (s.Temperature != nil && *s.Temperature != *s.Temperature || s.TopP != nil && *s.TopP > 1) {
		return fmt.Sprintf("temperature and top p that are no numbers: %t %t", s.Temperature != nil, s.TopP != nil)
	}
	text, err := json.Marshal(req)
	if err != nil {
		text = []byte(err.Error())
	}
	if s := req.Settings; s != nil {
		text = fmt.Appendf(text, " headers %q body %s", s.ExtraHeaders, s.ExtraBody)
	}
	return string(text)
}

// TestTheSuiteAsksAndAnswersThis compares all scenarios and all requests of the suite with what
// people have read and found good: a rule is as strong as what it tries.
func TestTheSuiteAsksAndAnswersThis(t *testing.T) {
	asked := map[string]map[string]int{} // how often, by case and request
	var mu sync.Mutex
	var order []string
	var w wires
	found := conform(t, w.watch(modeltest.Harness{
		Provider: true, Citations: true,
		New: func(t testing.TB, s modeltest.Scenario) model.Model {
			name := s.Rule + "/" + s.Case
			mu.Lock()
			defer mu.Unlock()
			if asked[name] == nil {
				answer, _ := json.Marshal(s.Answer)
				order = append(order, name+"\n"+brief(fmt.Sprintf("%s %+v %t %s", answer, s.Error, s.Silent, s.Fault)))
				asked[name] = map[string]int{}
			}
			return around(w.new(t, s), func(ctx context.Context, req *model.Request, sink model.Sink, next generateFunc) (*model.Message, error) {
				how := "complete "
				if sink != nil {
					how = "streamed "
				}
				line := how + brief(inWords(req))
				mu.Lock()
				asked[name][line]++
				mu.Unlock()
				return next(ctx, req, sink)
			})
		},
	}))
	require.Empty(t, found.problems)
	said := openWording(t)
	for _, head := range order {
		name, scenario, _ := strings.Cut(head, "\n")
		var lines []string
		for _, line := range slices.Sorted(maps.Keys(asked[name])) {
			lines = append(lines, fmt.Sprintf("%d × %s", asked[name][line], line))
		}
		said.same(t, name, scenario+"\n"+strings.Join(lines, "\n"))
	}
}
