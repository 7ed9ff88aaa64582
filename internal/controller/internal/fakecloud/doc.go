// Package fakecloud is a cloud in memory for the tests of controllers. An instance exists immediately after Create. It no longer
// exists after the second call of Delete. Tests can replace the results of most methods.
package fakecloud
