// SPDX-License-Identifier: Apache-2.0

// Package chat is an ACP client for terminals. It talks to any agent through package acpclient,
// shows what the agent says and does, and asks a person before anything is changed or run.
//
// [Run] holds a conversation. For a person it is on a screen: package screen is its state, render
// and markdown make lines of what the conversation shows, edit is the line editor, input reads
// keys, and tty is the terminal. Elsewhere package plain appends text, for pipes, logs and simple
// terminals, and events writes JSON. Package text makes text harmless, measures it and breaks it
// into lines.
//
// Only a person answers a question. Without one the answer is no. Input typed before a question was
// shown does not answer it: see package screen. In plain text an answer needs a word that is drawn
// at random for each question.
package chat
