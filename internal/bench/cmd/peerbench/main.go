// SPDX-License-Identifier: Apache-2.0

// Peerbench does the same work with Ponte, with a loop that was written by hand, and with other
// frameworks, and prints how they compare as Markdown. It is run from the root of the repository:
//
//	go run ./internal/bench/cmd/peerbench -rounds 5 -benchtime 100ms
//	go run ./internal/bench/cmd/peerbench -peers floor,ponte -rows 'OneTool|Seq'
//
// Every module is built first, one at a time. Then the rounds follow. Within a round each row is
// measured with one framework after another, in an order that shifts from round to round: other
// load on the machine hits all alike. A ratio is made of two measurements of the same round; the
// tables show medians over the rounds.
package main

import (
	"context"
	"flag"
	"fmt"
	"log"
	"os"
	"os/signal"
	"regexp"
	"strings"
)

func main() {
	log.SetFlags(0)
	log.SetPrefix("peerbench: ")
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx); err != nil {
		log.Fatal(err)
	}
}

func run(ctx context.Context) error {
	dir := flag.String("dir", "internal/bench", "`folder` with the modules")
	names := flag.String("peers", "", "modules to measure, separated by commas; the floor always is (default all)")
	rows := flag.String("rows", ".", "`regexp` of the rows to measure")
	rounds := flag.Int("rounds", 5, "how many rounds")
	benchtime := flag.String("benchtime", "100ms", "how long to measure a row, as go test has it")
	flag.Parse()
	if flag.NArg() > 0 || *rounds < 1 {
		flag.Usage()
		os.Exit(2)
	}
	wanted, err := regexp.Compile(*rows)
	if err != nil {
		return err
	}
	chosen, err := choose(*names)
	if err != nil {
		return err
	}
	bin, err := os.MkdirTemp("", "peerbench")
	if err != nil {
		return err
	}
	defer os.RemoveAll(bin)

	m := &measuring{benchtime: *benchtime, results: results{}, failures: map[cell][]string{}}
	for _, p := range chosen {
		fmt.Fprintf(os.Stderr, "building %s\n", p.dir)
		if err := p.build(ctx, *dir, bin); err != nil {
			return err
		}
	}
	for round := range *rounds {
		for _, g := range groups {
			for _, row := range g.rows {
				if !wanted.MatchString(row) {
					continue
				}
				fmt.Fprintf(os.Stderr, "round %d of %d: %s\n", round+1, *rounds, row)
				if err := m.row(ctx, chosen, g, row, round); err != nil {
					return err
				}
			}
		}
	}
	measured, err := versions(*dir, chosen)
	if err != nil {
		return err
	}
	var out strings.Builder
	fmt.Fprintf(&out, "%s. Medians of %d rounds of %s.\n\n%s", machine(), *rounds, *benchtime, measured)
	for _, g := range groups {
		g.write(&out, m.results, m.failures)
	}
	_, err = os.Stdout.WriteString(out.String())
	return err
}
