// SPDX-License-Identifier: Apache-2.0

package temporalengine_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestDashboardNamesMetricsOfTheSDK: each metric and label of Temporal's SDK that a dashboard names is one that the SDK has, in the form that its
// reporter for Prometheus gives it. Those of Ponte are checked by a test of package otelagent.
func TestDashboardNamesMetricsOfTheSDK(t *testing.T) {
	dir, err := exec.Command("go", "list", "-m", "-f", "{{.Dir}}", "go.temporal.io/sdk").Output()
	require.NoError(t, err)
	source, err := os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "internal", "common", "metrics", "constants.go"))
	require.NoError(t, err)
	names, labels := map[string]bool{}, map[string]bool{}
	for _, m := range regexp.MustCompile(`(\w+)\s+= TemporalMetricsPrefix \+ "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		name := "temporal_" + m[2]
		switch {
		case strings.HasSuffix(m[1], "Latency"):
			names[name+"_seconds_bucket"], names[name+"_seconds_count"], names[name+"_seconds_sum"] = true, true, true
		case strings.HasSuffix(m[1], "Counter"):
			names[name+"_total"] = true
		default: // a gauge or a counter
			names[name], names[name+"_total"] = true, true
		}
	}
	for _, m := range regexp.MustCompile(`TagName\s+= "(\w+)"`).FindAllStringSubmatch(string(source), -1) {
		labels[m[1]] = true
	}
	names["temporal_request_failure_total"] = strings.Contains(string(source), `TemporalMetricsPrefix + "request"`) && strings.Contains(string(source), `"_failure"`)
	dashboard, err := os.ReadFile("dashboards/ponte.json")
	require.NoError(t, err)
	used := regexp.MustCompile(`temporal_\w+`).FindAllString(string(dashboard), -1)
	require.Greater(t, len(used), 10)
	for _, name := range used {
		require.True(t, names[name], "the SDK has no metric %s", name)
	}
	for _, m := range regexp.MustCompile(`by \(([^)]*)\) \((?:rate\()?temporal_`).FindAllStringSubmatch(string(dashboard), -1) {
		for label := range strings.SplitSeq(m[1], ",") {
			if label = strings.TrimSpace(label); label != "le" {
				require.True(t, labels[label], "the SDK has no label %s", label)
			}
		}
	}
}
