// Package upstream lets the backtest of this project replay a day with upstream's decisions. They are made by the program
// of bench/peer, which is asked in JSON lines.
package upstream
