// SPDX-License-Identifier: Apache-2.0

// Housecount measures the size of the house. It counts the Go code of the repository, without tests
// and testdata:
//
//	go run ./internal/dev/housecount            five figures
//	go run ./internal/dev/housecount -packages  and the exported symbols of each public package
//	go run ./internal/dev/housecount -twins     and the pairs of structs
//
// The figures, of all modules together:
//
//   - Lines are all lines, blank ones and comments included.
//   - Long lines have more than 100 columns. A tab counts as four.
//   - Public packages can be imported by other modules: they are not programs, and neither below a directory "internal" nor below "examples".
//   - Exported symbols are the exported constants, variables, functions and types of public packages, and the exported methods of exported
//     types. Fields, and what interfaces ask for, are parts of their types. A name with a file for each system counts once.
//   - Twins are pairs of struct types with at least 4 fields each, of which at least 85 % are equal by name and type: of the larger one. A
//     type is the same with and without the name of its package.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
)

func main() {
	dir := flag.String("dir", ".", "the root of the repository")
	packages := flag.Bool("packages", false, "list public packages with their exported symbols")
	twins := flag.Bool("twins", false, "list twins")
	flag.Parse()
	h, err := read(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "housecount:", err)
		os.Exit(1)
	}
	h.print(os.Stdout, *packages, *twins)
}

func (h *house) print(w io.Writer, packages, twins bool) {
	public := h.public()
	symbols := 0
	for _, p := range public {
		symbols += len(p.symbols)
	}
	pairs := h.twins()
	fmt.Fprintf(w, "lines of Go without tests  %d\n", h.lines)
	fmt.Fprintf(w, "over 100 columns           %.1f %%\n", 100*float64(h.long)/float64(max(h.lines, 1)))
	fmt.Fprintf(w, "public packages            %d\n", len(public))
	fmt.Fprintf(w, "exported symbols           %d\n", symbols)
	fmt.Fprintf(w, "struct twins               %d\n", len(pairs))
	if packages {
		fmt.Fprintln(w)
		for _, p := range public {
			fmt.Fprintf(w, "%5d  %s\n", len(p.symbols), p.dir)
		}
	}
	if twins {
		fmt.Fprintln(w)
		for _, t := range pairs {
			fmt.Fprintf(w, "%3.0f %%  %s  %s\n", 100*t.equal, t.a, t.b)
		}
	}
}
