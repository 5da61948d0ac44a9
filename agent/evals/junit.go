// SPDX-License-Identifier: Apache-2.0

package evals

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/ponte-go/ponte/internal/hide"
)

type junitSuite struct {
	XMLName  xml.Name    `xml:"testsuite"`
	Name     string      `xml:"name,attr"`
	Tests    int         `xml:"tests,attr"`
	Failures int         `xml:"failures,attr"`
	Errors   int         `xml:"errors,attr"`
	Skipped  int         `xml:"skipped,attr"`
	Time     string      `xml:"time,attr"`
	Cases    []junitCase `xml:"testcase"`
}

type junitCase struct {
	Class   string        `xml:"classname,attr"`
	Name    string        `xml:"name,attr"`
	Time    string        `xml:"time,attr"`
	Failure *junitMessage `xml:"failure"`
	Error   *junitMessage `xml:"error"`
	Skipped *junitMessage `xml:"skipped"`
}

type junitMessage struct {
	Message string `xml:"message,attr"`
}

// WriteJUnit writes the report in the form of JUnit, which CI systems read: a test case for each
// trial. One that did not pass is a failure, one that says nothing about the task an error, and one
// that was not run is skipped.
func (r *Report) WriteJUnit(w io.Writer) error {
	suite := junitSuite{Name: r.title(), Time: seconds(r.Duration.Seconds())}
	if suite.Name == "" {
		suite.Name = "evals"
	}
	for i := range r.Cases {
		c := &r.Cases[i]
		for j := range c.Trials {
			suite.add(c, j)
		}
	}
	suite.Tests = len(suite.Cases)
	out, err := xml.MarshalIndent(suite, "", "  ")
	if err != nil {
		return fmt.Errorf("evals: JUnit: %w", err)
	}
	_, err = io.WriteString(w, xml.Header+string(out)+"\n")
	return err
}

// add adds a trial of a case.
func (s *junitSuite) add(c *ReportCase, trial int) {
	t := &c.Trials[trial]
	test := junitCase{Class: s.Name, Name: c.Name, Time: seconds(t.Duration.Seconds())}
	if len(c.Trials) > 1 {
		test.Name = fmt.Sprintf("%s [%d]", c.Name, trial+1)
	}
	failed, broken := t.messages()
	switch {
	case t.Status == StatusNotRun:
		test.Skipped = &junitMessage{"the run ended before"}
		s.Skipped++
	case len(broken) > 0:
		test.Error = &junitMessage{strings.Join(broken, "\n")}
		s.Errors++
	case len(failed) > 0:
		test.Failure = &junitMessage{strings.Join(failed, "\n")}
		s.Failures++
	}
	s.Cases = append(s.Cases, test)
}

// messages returns what a trial did not pass, and why it says nothing about the task.
func (t *TrialResult) messages() (failed, broken []string) {
	switch t.Status {
	case StatusUnavailable, StatusStopped:
		broken = append(broken, string(t.Status)+": "+hide.Controls(t.Error))
	case StatusFailed:
		failed = append(failed, "the task failed: "+hide.Controls(t.Error))
	}
	for _, s := range t.Scores {
		text := s.Name + ": " + hide.Controls(s.Reason)
		switch {
		case s.Kind == KindError:
			broken = append(broken, text)
		case s.Kind == KindPass && s.failing():
			failed = append(failed, text)
		}
	}
	return failed, broken
}

func seconds(s float64) string { return fmt.Sprintf("%.3f", s) }
