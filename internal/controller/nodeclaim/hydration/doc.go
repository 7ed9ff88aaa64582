// Package hydration brings claims that an older version made up to today's form: it adds the label that names their
// node class.
package hydration
