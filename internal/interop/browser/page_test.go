// SPDX-License-Identifier: Apache-2.0

//go:build unix

package browser_test

import "testing"

func TestPageStreamsMarkdown(t *testing.T)                 { drive(t, "stream") }
func TestPageApprovesWhatItShows(t *testing.T)             { drive(t, "approve") }
func TestPageDeniesWithReason(t *testing.T)                { drive(t, "deny") }
func TestPageAnswersByKey(t *testing.T)                    { drive(t, "keys") }
func TestNothingTypedAnswers(t *testing.T)                 { drive(t, "typing") }
func TestHeldKeysDoNothingTwice(t *testing.T)              { drive(t, "held") }
func TestQuestionIsAnsweredAgain(t *testing.T)             { drive(t, "twice") }
func TestPageEditsArguments(t *testing.T)                  { drive(t, "edit") }
func TestPageStopsAndGoesOn(t *testing.T)                  { drive(t, "stop") }
func TestPageShowsLiveOutput(t *testing.T)                 { drive(t, "command") }
func TestPageAsksWithForms(t *testing.T)                   { drive(t, "form") }
func TestPageCompletesCommandsAndTakesImages(t *testing.T) { drive(t, "composer") }
func TestPageRewindsAndSearches(t *testing.T)              { drive(t, "rewind") }
func TestPageResumesAfterReload(t *testing.T)              { drive(t, "reload") }
func TestHiddenTabHasNoStream(t *testing.T)                { drive(t, "hidden") }
func TestEightTabsWork(t *testing.T)                       { drive(t, "crowd") }
func TestLateAnswerIsAboutWhatWasShown(t *testing.T)       { drive(t, "late") }
func TestTabsAgree(t *testing.T)                           { drive(t, "tabs") }
func TestWaitingPromptsAreEditedAndRemoved(t *testing.T)   { drive(t, "waiting") }
func TestPageOutlivesKilledServer(t *testing.T)            { drive(t, "kill") }
func TestManyCallsKeepThePageSmall(t *testing.T)           { drive(t, "many") }
func TestAttacksInTranscriptsDoNotRun(t *testing.T)        { drive(t, "attacks") }
func TestNaughtyStringsAreText(t *testing.T)               { drive(t, "strings") }
func TestPageShowsImagesOfTheAgent(t *testing.T)           { drive(t, "pictures") }
func TestPageMarksWhatSourcesSay(t *testing.T)             { drive(t, "cite") }
func TestPageMarksAnswers(t *testing.T)                    { drive(t, "marks") }
func TestPageIsLightOrDark(t *testing.T)                   { drive(t, "theme") }
func TestPageOutlivesForgottenSession(t *testing.T)        { drive(t, "forgotten") }
func TestPageFitsNarrowAndWideScreens(t *testing.T)        { drive(t, "widths") }
func TestPageWorksByKeyboard(t *testing.T)                 { drive(t, "keyboard") }
func TestPictureOfTheReadme(t *testing.T)                  { drive(t, "picture") }

// TestPageWorksInFirefox repeats what people do most in another browser.
func TestPageWorksInFirefox(t *testing.T) {
	deep(t)
	firefox := []string{"IN_FIREFOX=" + executable(t, "FIREFOX", "firefox-esr", "firefox-esr", "firefox")}
	for _, scenario := range []string{"stream", "approve", "edit", "held", "twice", "form", "stop", "reload", "tabs", "crowd", "late", "attacks"} {
		t.Run(scenario, func(t *testing.T) {
			var s server
			s.start(t)
			defer s.kill()
			driveAt(t, scenario, "http://"+s.addr+"/", firefox)
		})
	}
}
