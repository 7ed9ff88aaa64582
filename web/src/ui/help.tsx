import { useEffect, useRef } from "preact/hooks";
import { zone } from "../format";

const rows: [string, string][] = [
  ["1 – 8", "view: fleet, pending, decisions, pools, capacity, cost, what-if, trends"],
  ["/", "search"],
  ["↑ ↓ ← →", "move between nodes, rows or moments"],
  ["PgUp PgDn Home End", "move further"],
  ["Enter", "open"],
  ["Esc", "close, clear the search, back to now"],
  ["g", "group the fleet by the next property"],
  ["v", "fleet as tiles or as a table"],
  ["[ ]", "earlier or later moment"],
  ["t", "dark or light"],
  ["?", "this help"],
];

export function Help({ close }: { close: () => void }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useEffect(() => dialog.current!.showModal(), []);
  return (
    <dialog ref={dialog} class="help" aria-labelledby="help-title" onClose={close} onClick={(e) => e.target === dialog.current && close()}>
      <header><h2 id="help-title">Keyboard</h2><button type="button" class="icon" aria-label="Close" onClick={close}>✕</button></header>
      <dl>{rows.map(([key, text]) => <div key={key}><dt>{key.split(" ").map((k) => (k === "–" ? " – " : <kbd key={k}>{k}</kbd>))}</dt><dd>{text}</dd></div>)}</dl>
      <h3>Search</h3>
      <p>Terms are separated by spaces, and all must match. <code>pool:</code> <code>zone:</code> <code>type:</code> <code>capacity:</code> <code>state:</code> <code>kept:</code> <code>owner:</code> look at one property. Pods of owners that match are marked.</p>
      <h3>Times</h3>
      <p>Times are in the time zone of the browser, <b>{zone(Date.now())}</b>. The title of a time is the time in UTC. Schedules of disruption budgets and days of savings are in UTC.</p>
      <p class="muted">The address has the whole state of the page, so it can be shared.</p>
    </dialog>
  );
}
