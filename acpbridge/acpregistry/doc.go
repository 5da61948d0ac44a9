// SPDX-License-Identifier: Apache-2.0

// Package acpregistry finds agents of the Agent Client Protocol by their names, in the format of the ACP registry, and installs them.
//
//	agents, err := acpregistry.Load()
//	if err != nil {
//		return err
//	}
//	a, err := agents.Find("claude-code")
//	if err != nil {
//		return err
//	}
//	var store acpregistry.Store
//	if err := store.Install(ctx, a, os.Stderr); err != nil {
//		return err
//	}
//	command, err := store.Command(a)
//
// acpclient.Open does all of this but the installation.
//
// # Where names come from
//
// [Builtin] is a copy of part of the registry, pinned to the versions that this package was tested with. [Load] adds the user's file, see
// [UserFile]. Its entries win over those of the copy. It may be the registry's own file, or the user's selection of it. Nothing is fetched.
//
// # What is downloaded and run
//
// Find, Load and [Store.Command] download nothing and run nothing. [Store.Install] runs npm or uv, or downloads the archive of a binary over
// HTTPS and checks its SHA-256. It is called by the program, never by this package. Every package must name its exact version.
//
// # Files from elsewhere
//
// A registry's file says what runs, so what this package does not understand in it is an error: paths that leave the archive, packages without
// a version or from an address, environment variables that make other code run, anything unknown in a distribution. Unknown members of the
// file and of an agent's entry only describe it, and are ignored.
package acpregistry
