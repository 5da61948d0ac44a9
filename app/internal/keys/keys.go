// SPDX-License-Identifier: Apache-2.0

// Package keys keeps the API keys of a user: in the system's keyring, or where there is none in a
// file that only the user can read.
package keys

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// ErrNone means that no key of the name is stored.
var ErrNone = errors.New("no such key is stored")

// Place is somewhere that keys are kept.
type Place interface {
	Get(name string) (string, error) // ErrNone if it has none
	Set(name, key string) error
	Remove(name string) error // ErrNone if it has none
	String() string           // for people
}

// Keyring returns the system's keyring for a program, nil if there is none. It is nil if the
// program does not link one.
var Keyring func(program string, getenv func(string) string) Place

// Keys keeps keys by name, such as OPENAI_API_KEY. It may be used by several goroutines and
// processes.
type Keys struct {
	places []Place
	// ringed has the names of the keys in the keyring, because to look there may take a moment and
	// ask the user. It has no keys.
	ringed file
}

// Variable returns the name of the variable that names the file of the keys of a program.
func Variable(program string) string {
	return strings.ToUpper(strings.ReplaceAll(program, "-", "_")) + "_KEYS"
}

// Open returns the keys that the user of a program has stored. getenv returns environment
// variables: if [Variable] is set, it is the file that the keys are kept in, and the keyring is not
// used. Nothing is read or made before it is needed.
func Open(program string, getenv func(string) string) *Keys {
	if name := getenv(Variable(program)); name != "" {
		return &Keys{places: []Place{file(name)}}
	}
	k := &Keys{}
	if Keyring != nil {
		if ring := Keyring(program, getenv); ring != nil {
			k.places = append(k.places, ring)
		}
	}
	if dir, err := os.UserConfigDir(); err == nil {
		k.places = append(k.places, file(filepath.Join(dir, program, "keys.json")))
		k.ringed = file(filepath.Join(dir, program, "keyring.json"))
	}
	return k
}

// Get returns a key, or an error that is [ErrNone]. A keyring that is locked may ask the user to
// open it; Get returns when ctx ends.
func (k *Keys) Get(ctx context.Context, name string) (key string, err error) {
	var errs []error
	for _, p := range k.places {
		key, err := within(ctx, func() (string, error) { return p.Get(name) })
		if err == nil {
			return key, nil
		}
		if !errors.Is(err, ErrNone) {
			errs = append(errs, fmt.Errorf("%v: %w", p, err))
		}
	}
	if errs != nil {
		return "", errors.Join(errs...)
	}
	return "", ErrNone
}

// Set stores a key in the first place that accepts it, and returns that place.
func (k *Keys) Set(ctx context.Context, name, key string) (where string, err error) {
	var errs []error
	for _, p := range k.places {
		_, err := within(ctx, func() (string, error) { return "", p.Set(name, key) })
		if err == nil {
			if _, ok := p.(file); !ok && k.ringed != "" {
				_ = k.ringed.Set(name, "in the keyring") // without it, the key is found all the same
			}
			return p.String(), nil
		}
		errs = append(errs, fmt.Errorf("%v: %w", p, err))
	}
	return "", errors.Join(append(errs, errors.New("the key is not stored"))...)
}

// Remove forgets a key, wherever it is kept. If it is nowhere, the error is [ErrNone].
func (k *Keys) Remove(ctx context.Context, name string) error {
	err := ErrNone
	if k.ringed != "" {
		_ = k.ringed.Remove(name)
	}
	for _, p := range k.places {
		_, e := within(ctx, func() (string, error) { return "", p.Remove(name) })
		switch {
		case e == nil && errors.Is(err, ErrNone):
			err = nil
		case e != nil && !errors.Is(e, ErrNone):
			err = fmt.Errorf("%v: %w", p, e)
		}
	}
	return err
}

// Names returns the names of keys that have been stored, sorted. It reads no key and asks no
// keyring, so a key may be missing all the same.
func (k *Keys) Names() []string {
	if k == nil {
		return nil
	}
	names := map[string]string{}
	for _, p := range append(slices.Clone(k.places), k.ringed) {
		if f, ok := p.(file); ok && f != "" {
			all, _ := f.read() // what cannot be read has no keys either
			maps.Copy(names, all)
		}
	}
	return slices.Sorted(maps.Keys(names))
}

// within waits for f no longer than ctx. A keyring cannot be interrupted.
func within(ctx context.Context, f func() (string, error)) (string, error) {
	type result struct {
		key string
		err error
	}
	done := make(chan result, 1)
	go func() {
		key, err := f()
		done <- result{key, err}
	}()
	select {
	case r := <-done:
		return r.key, r.err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
