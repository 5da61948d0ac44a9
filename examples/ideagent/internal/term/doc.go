// SPDX-License-Identifier: Apache-2.0

// Package term is an ACP client for terminals. It talks to any agent through package acpclient, shows what the agent says and does,
// and asks a person before anything is changed or run.
//
// [Run] holds a conversation. What it shows goes through one of these packages: plain appends text to a pipe, a log or a simple
// terminal, and events writes JSON. Package text makes text harmless.
//
// Only a person answers a question. Without one the answer is no. What was typed before a question was shown does not answer it: in plain
// text an answer needs a word that is drawn at random for each question.
package term
