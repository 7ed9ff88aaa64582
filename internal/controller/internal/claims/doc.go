// Package claims is the frame of controllers that work on one claim at a time: which claims they are woken for, how many
// workers they have, which claims need work, and what becomes of a write that met another one.
package claims
