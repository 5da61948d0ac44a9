// SPDX-License-Identifier: Apache-2.0

// Housecount counts the Go code of the repository, without tests and testdata:
//
//	go run ./internal/dev/housecount            the figures of the whole house
//	go run ./internal/dev/housecount -rooms     and of each room
//	go run ./internal/dev/housecount -packages  and the exported symbols of each public package
//	go run ./internal/dev/housecount -twins     and the pairs of structs
//	go run ./internal/dev/housecount -long DIR  and the lines over 100 columns below a directory
//
// The figures, of all modules together:
//
//   - Lines are all lines, including blank ones and comments. Generated files have the line
//     "Code generated … DO NOT EDIT."
//   - Long lines have more than 100 columns. A tab counts as four. Those of generated files do not
//     count: nobody can break them.
//   - Public packages can be imported by other modules: they are not programs, and not below a
//     directory "internal" or "examples".
//   - Exported symbols are the exported constants, variables, functions and types of public
//     packages, and the exported methods of exported types. Fields and methods of interfaces
//     belong to their types. A name with a file for each system counts once.
//   - Twins are pairs of struct types with at least 4 fields each, of which at least 85 % are
//     equal by name and type: of the larger one. A type is the same with and without the name of
//     its package.
//   - A room is a directory of at most two levels. Its largest file is one that is not generated.
//
// The test of this command compares the figures with testdata/bounds.txt, lines in thousands. This
// lowers the bounds:
//
//	go test ./internal/dev/housecount -update
//
// A feature that needs more says so by raising the bound in its own commit.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
)

func main() {
	dir := flag.String("dir", ".", "the root of the repository")
	packages := flag.Bool("packages", false, "list public packages with their exported symbols")
	twins := flag.Bool("twins", false, "list twins")
	long := flag.String("long", "", "list the lines over 100 columns of this file or directory")
	rooms := flag.Bool("rooms", false, "list rooms with their lines, long lines and largest files")
	flag.Parse()
	h, err := read(*dir)
	if err != nil {
		fmt.Fprintln(os.Stderr, "housecount:", err)
		os.Exit(1)
	}
	h.print(os.Stdout)
	if *rooms {
		h.printRooms(os.Stdout)
	}
	if *packages {
		h.printPackages(os.Stdout)
	}
	if *twins {
		h.printTwins(os.Stdout)
	}
	if *long != "" {
		h.printLong(os.Stdout, *long)
	}
}

// symbols returns the number of exported symbols of all public packages.
func (h *house) symbols() int {
	n := 0
	for _, p := range h.public() {
		n += len(p.symbols)
	}
	return n
}

func (h *house) print(w io.Writer) {
	fmt.Fprintf(w, "lines of Go without tests  %d, of which %d are generated\n", h.lines, h.generated)
	fmt.Fprintf(w, "over 100 columns           %d, %.1f %%\n",
		h.long, 100*float64(h.long)/float64(max(h.lines, 1)))
	fmt.Fprintf(w, "public packages            %d\n", len(h.public()))
	fmt.Fprintf(w, "exported symbols           %d\n", h.symbols())
	fmt.Fprintf(w, "struct twins               %d\n", len(h.twins()))
}

func (h *house) printRooms(w io.Writer) {
	fmt.Fprintf(w, "\n lines   long  largest file\n")
	for _, r := range h.sorted() {
		fmt.Fprintf(w, "%6d %6d  %4d %s\n", r.lines, r.long, r.largest.lines, r.largest.name)
	}
}

func (h *house) printPackages(w io.Writer) {
	fmt.Fprintln(w)
	for _, p := range h.public() {
		fmt.Fprintf(w, "%5d  %s\n", len(p.symbols), p.dir)
	}
}

// printLong lists the long lines of a file, or below a directory.
func (h *house) printLong(w io.Writer, at string) {
	at = path.Clean(filepath.ToSlash(at))
	fmt.Fprintln(w)
	for _, line := range h.longLines {
		if at == "." || line.file == at || strings.HasPrefix(line.file, at+"/") {
			fmt.Fprintf(w, "%s:%d: %d columns\n", line.file, line.number, line.columns)
		}
	}
}

func (h *house) printTwins(w io.Writer) {
	fmt.Fprintln(w)
	for _, t := range h.twins() {
		fmt.Fprintf(w, "%3.0f %%  %s  %s\n", 100*t.equal, t.a, t.b)
	}
}
