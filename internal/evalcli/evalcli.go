// SPDX-License-Identifier: Apache-2.0

// Package evalcli is the command that shows, compares and checks the reports of package evals. Any
// command line can call it; the program agent/evals/eval is nothing else.
package evalcli

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/ponte-go/ponte/agent/evals"
	"github.com/ponte-go/ponte/internal/hide"
)

// ExitMistake is the exit code for a mistake in the command line, or a file that cannot be read.
// [evals.Gate] has the others.
const ExitMistake = 3

const usage = `Look at reports of evals.

Usage:

	eval show [-format F] [-o FILE] REPORT               show a report
	eval compare [-format F] [-o FILE] BASE REPORT...    compare reports with a baseline
	eval check [-least METRIC=BOUND]... [-base BASE] REPORT
	                                                     check a report, for CI

Formats are text, markdown and html, for show also junit. Reports are files that Report.Save wrote.

Exit codes: 0 good, 1 worse than a bound or significantly worse than the baseline, 2 the report does
not tell, 3 a mistake in the command line or a file that cannot be read. Show and compare do not
judge.
`

// Run runs the command with the arguments behind its name. It returns the exit code.
func Run(args []string, out, errOut io.Writer) int {
	c := &command{out: out, errOut: errOut}
	switch err := c.run(args); {
	case errors.Is(err, flag.ErrHelp):
		_, _ = io.WriteString(out, usage)
	case err != nil:
		_, _ = fmt.Fprintf(errOut, "eval: %s\n", hide.Controls(err.Error()))
		return ExitMistake
	}
	return c.code
}

type command struct {
	out, errOut io.Writer
	format      string
	file        string
	base        string
	code        int // what check found
	least       map[string]float64
}

func (c *command) run(args []string) error {
	if len(args) == 0 {
		return errors.New("say what to do: show, compare or check; eval -h explains")
	}
	verb, args := args[0], args[1:]
	flags := flag.NewFlagSet(verb, flag.ContinueOnError)
	flags.SetOutput(io.Discard)
	switch verb {
	case "show", "compare":
		flags.StringVar(&c.format, "format", "text", "")
		flags.StringVar(&c.file, "o", "", "")
	case "check":
		flags.StringVar(&c.base, "base", "", "")
		flags.Func("least", "", c.bound)
	case "-h", "-help", "--help", "help":
		return flag.ErrHelp
	default:
		return fmt.Errorf("unknown command %q: show, compare or check", verb)
	}
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch files := flags.Args(); {
	case verb == "compare" && len(files) < 2:
		return errors.New("compare: give a baseline and a report, after the flags")
	case verb != "compare" && len(files) != 1:
		return fmt.Errorf("%s: give one report, after the flags", verb)
	case verb == "show":
		return c.show(files[0])
	case verb == "compare":
		return c.compare(files)
	default:
		return c.check(files[0])
	}
}

func (c *command) bound(text string) error {
	name, value, ok := strings.Cut(text, "=")
	bound, err := strconv.ParseFloat(value, 64)
	if !ok || err != nil || math.IsNaN(bound) || math.IsInf(bound, 0) {
		return fmt.Errorf("%q is not METRIC=BOUND", text)
	}
	if c.least == nil {
		c.least = map[string]float64{}
	}
	c.least[name] = bound
	return nil
}

// to calls write with what the output goes to.
func (c *command) to(write func(w io.Writer) error) error {
	if c.file == "" {
		return write(c.out)
	}
	f, err := os.CreateTemp(filepath.Dir(c.file), ".eval-*")
	if err != nil {
		return err
	}
	err = write(f)
	if closed := f.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(f.Name(), c.file)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}

// formats are the forms of tables.
var formats = map[string]evals.Format{"text": evals.Text, "markdown": evals.Markdown}

func (c *command) show(file string) error {
	r, err := evals.Load(file)
	if err != nil {
		return err
	}
	return c.to(func(w io.Writer) error {
		switch c.format {
		case "html":
			return r.WriteHTML(w, nil)
		case "junit":
			return r.WriteJUnit(w)
		}
		form, ok := formats[c.format]
		if !ok {
			return fmt.Errorf("unknown format %q: text, markdown, html or junit", c.format)
		}
		return r.Write(w, form)
	})
}

func (c *command) compare(files []string) error {
	base, err := evals.Load(files[0])
	if err != nil {
		return err
	}
	var next []*evals.Report
	for _, file := range files[1:] {
		r, err := evals.Load(file)
		if err != nil {
			return err
		}
		next = append(next, r)
	}
	return c.to(func(w io.Writer) error {
		if c.format == "html" {
			return evals.CompareHTML(w, base, next...)
		}
		for i, r := range next {
			form, ok := formats[c.format]
			if !ok {
				return fmt.Errorf("unknown format %q: text, markdown or html", c.format)
			}
			if i > 0 {
				if _, err := io.WriteString(w, "\n"); err != nil {
					return err
				}
			}
			if err := evals.Compare(base, r).Write(w, form); err != nil {
				return err
			}
		}
		return nil
	})
}

func (c *command) check(file string) error {
	r, err := evals.Load(file)
	if err != nil {
		return err
	}
	g := evals.Gate{Least: c.least}
	if c.base != "" {
		if g.Base, err = evals.Load(c.base); err != nil {
			return err
		}
	}
	if g.Base == nil && g.Least == nil {
		return errors.New("check: give -least or -base")
	}
	var reasons []string
	c.code, reasons = g.Check(r)
	for _, reason := range reasons {
		if _, err := fmt.Fprintln(c.out, hide.Controls(reason)); err != nil {
			return err
		}
	}
	return nil
}
