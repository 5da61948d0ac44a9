// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"encoding/json"
	"time"

	"github.com/ponte-go/ponte/toolset"
)

// Status is the way in which a trial ended.
type Status string

const (
	// StatusCompleted means that the task returned an output.
	StatusCompleted Status = "completed"
	// StatusFailed means that it returned an error or panicked. Only trials of these two statuses
	// count in scores.
	StatusFailed Status = "failed"
	// StatusUnavailable means that a provider failed, also after retries, or that the workspace
	// could not be made. A trial is also unavailable if the provider failed in a run inside a tool
	// and the task went on.
	StatusUnavailable Status = "unavailable"
	// StatusStopped means that the budget was used up, or that the context ended, while the task
	// worked.
	StatusStopped Status = "stopped"
	// StatusNotRun means that the run ended before the trial began.
	StatusNotRun Status = "not run"
)

// Report has the results of running a dataset.
type Report struct {
	// Name and Dataset are the names of the run and of the dataset.
	Name    string `json:"name,omitempty"`
	Dataset string `json:"dataset,omitempty"`
	// Start is when the run began, and Duration how long it took.
	Start    time.Time     `json:"start,omitzero"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	// Cases are the cases in the order of the dataset.
	Cases []ReportCase `json:"cases"`
	// Usage is the usage of all trials, with retries and judges.
	Usage toolset.Usage `json:"usage,omitzero"`
	// Stopped says why the run ended early; it is empty otherwise.
	Stopped string `json:"stopped,omitempty"`
}

// ReportCase is a case of a report.
type ReportCase struct {
	// Name is the name of the case.
	Name string `json:"name"`
	// Input and Expected are the case's, as JSON. Expected is nil without a label.
	Input    json.RawMessage `json:"input,omitempty"`
	Expected json.RawMessage `json:"expected,omitempty"`
	Metadata map[string]any  `json:"metadata,omitempty"`
	// Trials are the trials of the case, one for each repeat.
	Trials []TrialResult `json:"trials"`
}

// TrialResult is the result of a trial.
type TrialResult struct {
	// Status tells whether the trial counts.
	Status Status `json:"status"`
	// Scores has a score for each evaluator that gave one. It is nil unless the trial counts in
	// scores.
	Scores []Score `json:"scores,omitempty"`
	// Output is the output as JSON, and Error the error of the task.
	Output json.RawMessage `json:"output,omitempty"`
	Error  string          `json:"error,omitempty"`
	// Attempts is how often the task was called. The other fields describe the last attempt.
	Attempts int           `json:"attempts,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	Usage    toolset.Usage `json:"usage,omitzero"`
	// Runs are the transcripts.
	Runs []AgentRun `json:"runs,omitempty"`
}

// Counts reports whether the trial counts in scores: the task returned an output or an error of its
// own.
func (t *TrialResult) Counts() bool {
	return t.Status == StatusCompleted || t.Status == StatusFailed
}

// Passed reports whether the trial counts, and has neither failed nor a score that is a no.
func (t *TrialResult) Passed() bool {
	for i := range t.Scores {
		if t.Scores[i].failing() {
			return false
		}
	}
	return t.Status == StatusCompleted
}

// Errors returns the scores that evaluators failed to give, of all trials.
func (r *Report) Errors() (failed []Score) {
	r.each(func(_ *ReportCase, s *Score) {
		if s.Kind == KindError {
			failed = append(failed, *s)
		}
	})
	return failed
}

// Count returns how many trials have a status.
func (r *Report) Count(s Status) (n int) {
	for i := range r.Cases {
		for j := range r.Cases[i].Trials {
			if r.Cases[i].Trials[j].Status == s {
				n++
			}
		}
	}
	return n
}
