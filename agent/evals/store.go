// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"encoding/json"
	"fmt"
	"os"

	"github.com/ponte-go/ponte/internal/wholefile"
)

// ReportVersion is the version of the files that [Report.Save] writes.
const ReportVersion = 1

// stored is the JSON form of a report.
type stored struct {
	Version int `json:"version"`
	*Report
}

// Save writes the report to a file, with all transcripts. An existing file is replaced as a whole.
// Transcripts may contain what users and tools have said, so look at a file before you publish it.
func (r *Report) Save(file string) error {
	data, err := json.Marshal(stored{ReportVersion, r})
	if err != nil {
		return fmt.Errorf("evals: save %s: %w", file, err)
	}
	if err := wholefile.Write(file, append(data, '\n'), 0o600); err != nil {
		return fmt.Errorf("evals: save %s: %w", file, err)
	}
	return nil
}

// Load reads a report that [Report.Save] has written.
func Load(file string) (*Report, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("evals: load: %w", err)
	}
	s := stored{Report: &Report{}}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, fmt.Errorf("evals: load %s: %w", file, err)
	}
	if s.Version < 1 || s.Version > ReportVersion {
		return nil, fmt.Errorf("evals: load %s: it has version %d, and this program reads 1 to %d",
			file, s.Version, ReportVersion)
	}
	return s.Report, nil
}
