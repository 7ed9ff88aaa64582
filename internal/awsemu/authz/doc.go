// Package authz decides by IAM policies whether a call is allowed: actions and
// resources with wildcards, and the condition operators that policies for
// controllers use. Whatever no statement allows is denied, and a statement that
// denies wins. A policy that uses what is not known here is refused, not
// guessed at.
package authz
