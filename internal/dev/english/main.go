// SPDX-License-Identifier: Apache-2.0

// Command english counts phrases that native readers stumble on, in comments and documents:
//
//	go run ./internal/dev/english          rooms with their counts, the worst first
//	go run ./internal/dev/english -v ROOM  each phrase in the rooms whose names contain ROOM
//
// The phrases are typical of translated English. The counter is a smoke detector, not a grammar:
// rewrite the sentence, do not swap the word. The test of this package keeps each room below its
// bound, and bounds only go down.
package main

import (
	"flag"
	"fmt"
	"os"
	"strings"
)

func main() {
	verbose := flag.Bool("v", false, "print each phrase")
	flag.Parse()
	rooms, err := read(".")
	if err != nil {
		fmt.Fprintln(os.Stderr, "english:", err)
		os.Exit(1)
	}
	for _, r := range rooms {
		if !strings.Contains(r.name, flag.Arg(0)) {
			continue
		}
		fmt.Printf("%5.0f  %-44s %6d words %5d phrases\n", r.rate(), r.name, r.words, len(r.found))
		if *verbose {
			for _, f := range r.found {
				fmt.Printf("       %s:%d: %s: %s\n", f.file, f.line, f.phrase, f.text)
			}
		}
	}
}
