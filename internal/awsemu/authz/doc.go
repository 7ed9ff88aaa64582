// Package authz decides by IAM policies whether a call is allowed. It supports actions and resources with wildcards, and the
// condition operators that policies of controllers use. A call that no statement allows is denied, and a statement that denies
// takes precedence. A policy with an unknown condition operator is an error.
package authz
