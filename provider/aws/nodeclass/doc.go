// Package nodeclass keeps EC2NodeClasses: it resolves what they select into their status, says what is wrong with them in
// conditions, stamps them with the hash that drift is detected by, and prevents their deletion while claims use them.
package nodeclass
