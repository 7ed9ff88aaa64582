import type { ComponentChildren } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { NodeDetail } from "../api";
import { amounts, count, cpu, dollars, memory, percent, perHour, plural, share, shortName } from "../format";
import { past, shownFleet } from "../replay";
import { link, params, set } from "../router";
import { now, strip } from "../store";
import { Age, Badge, CapacityMark, Copy, Failed, Meter, Value } from "./parts";
import { useResource } from "./use";

/** A panel beside the view. It takes the focus when it opens, and gives it back when it closes. */
export function Drawer({ title, kind, close, children, label }: { title: ComponentChildren; kind: string; label: string; close: () => void; children: ComponentChildren }) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    const before = document.activeElement as HTMLElement | null;
    const byKey = before?.matches?.(":focus-visible");
    if (byKey && before?.getAttribute("role") !== "listbox") heading.current?.focus();
    return () => {
      // The focus is not given back if it has moved to another place meanwhile, such as the search.
      const current = document.activeElement;
      const free = !current || current === document.body || current.closest(".drawer") !== null;
      if (byKey && free && before && document.contains(before)) before.focus();
    };
  }, []);
  return (
    <aside class="drawer" aria-label={label}>
      <header>
        <div><span class="kind">{kind}</span><h2 tabIndex={-1} ref={heading}>{title}</h2></div>
        <button type="button" class="icon" aria-label="Close" title="Close (Esc)" onClick={close}>✕</button>
      </header>
      <div class="drawer-body" tabIndex={0} role="region" aria-label={label + ", details"}>{children}</div>
    </aside>
  );
}

function Part({ title, children }: { title: string; children: ComponentChildren }) {
  return <section class="part"><h3>{title}</h3>{children}</section>;
}

export function Fix({ text }: { text: string }) {
  return text ? <p class="fix"><b>fix</b> <bdi>{text}</bdi></p> : null;
}

const causeTexts: Record<string, string> = { workload: "workloads" };

function Detail({ d, then }: { d: NodeDetail; then: boolean }) {
  const total = d.cost.reduce((sum, c) => sum + Math.max(0, c.dollarsPerHour), 0);
  const standby = strip.value?.leader === false;
  return (
    <>
      <Part title={d.stays.rule || standby ? "Why it stays" : "What will be done"}>
        <p>{d.stays.reason || (standby ? "Not known here: this replica is a standby, and the leader decides." : "No rule keeps this node, and no disruption reason applies.")}</p>
        {(d.stays.wastePerHour ?? 0) > 0 && <p class="muted">wastes up to {perHour(d.stays.wastePerHour)}</p>}
        <Fix text={d.stays.fix} />
        {d.node.state !== "unmanaged" && <p><a href={link({ without: d.node.id, node: undefined, q: undefined, at: undefined }, "whatif")}>What if it were removed?</a></p>}
      </Part>
      <Part title="Why this type">
        {d.chosen.episode ? (
          <>
            <p><bdi>{d.chosen.decision}</bdi> <a href={link({ episode: d.chosen.episode, node: undefined }, "decisions")}>Show the decision</a></p>
            {d.chosen.options > 0 && <p class="muted">{plural(d.chosen.options, "instance type")} would have done.</p>}
          </>
        ) : <p class="muted">The decision that launched this node is not kept any more.</p>}
        {d.chosen.considered.length > 0 && (
          <table class="plain">
            <thead><tr><th>Considered</th><th>Zone</th><th class="number">$/h</th></tr></thead>
            <tbody>
              {d.chosen.considered.map((c, i) => (
                <tr key={i} class={c.reason === "" || c.reason === "chosen" ? "chosen" : ""}>
                  <td><CapacityMark type={c.capacityType} /> {c.type}{c.reason && <small>{c.reason}</small>}</td>
                  <td>{c.zone}</td>
                  <td class="number"><Value text={dollars(c.dollarsPerHour)} /></td>
                </tr>
              ))}
            </tbody>
          </table>
        )}
      </Part>
      <Part title="Cost">
        {d.node.dollarsPerHour === null && !d.cost.length ? <p class="muted">The price of this node is unknown.</p> : (
          <ul class="bars">
            {d.cost.map((c) => (
              <li key={c.cause}><span>{causeTexts[c.cause] ?? c.cause}</span><span class="bar"><i style={{ width: `${total ? (Math.max(0, c.dollarsPerHour) / total) * 100 : 0}%` }} /></span><span class="number">{perHour(c.dollarsPerHour)}</span></li>
            ))}
          </ul>
        )}
      </Part>
      <Part title={`Pods (${count(d.pods.length)})`}>
        {d.pods.length === 0 ? <p class="muted">No pods run here.</p> : (
          <ul class="pods">
            {d.pods.map((p) => (
              <li key={p.namespace + "/" + p.name} class={p.blocks ? "blocks" : ""}>
                <div class="pod-name"><code>{p.namespace}/{p.name}</code><span class="number"><Value text={perHour(p.dollarsPerHour)} /></span></div>
                <div class="muted">{p.daemon ? "DaemonSet · " : ""}{amounts(p.requested)}</div>
                {p.blocks && <div class="why">{p.blocks}</div>}
              </li>
            ))}
          </ul>
        )}
      </Part>
      <Part title="Conditions">
        <ol class="conditions">
          {d.conditions.map((c) => (
            <li key={c.of + c.type} class={"condition-" + c.status.toLowerCase()}>
              <b>{c.type}</b> <span class="muted">{c.status === "Unknown" ? "unknown" : c.status.toLowerCase()}{c.reason && c.reason !== c.type ? <>, <bdi>{c.reason}</bdi></> : ""}</span>
              <Age time={c.since} />
              {c.message && <div class="muted">{c.message}</div>}
            </li>
          ))}
        </ol>
        {!d.conditions.length && <p class="muted">No conditions are reported.</p>}
      </Part>
      <details class="part"><summary>Labels and taints</summary>
        <ul class="labels">
          {d.taints.map((taint) => <li key={taint}><code>taint {taint}</code></li>)}
          {Object.entries(d.labels).sort(([a], [b]) => (a < b ? -1 : 1)).map(([k, v]) => <li key={k}><code>{k}={v}</code></li>)}
        </ul>
      </details>
      {then && <p class="muted">Details are those of now. The figures above are those of the chosen moment.</p>}
    </>
  );
}

export function NodeDrawer() {
  const id = params.value.node ?? "";
  const { fleet, past: then } = shownFleet();
  const node = fleet.nodes.get(id);
  // The details are fetched again whenever the stream changes the node.
  const { data, failure, reload } = useResource<NodeDetail>(id ? "nodes/" + encodeURIComponent(id) : "", 20, node);
  const shown = node ?? data?.node;
  const close = () => set({ node: undefined });
  return (
    <Drawer kind={shown?.state === "unmanaged" ? "Node without a NodeClaim" : "Node"} label={"Node " + (shown?.name || id)} close={close}
      title={<><code>{shortName(shown?.name || id)}</code> <Copy text={shown?.name || id} label="Copy name" /></>}>
      {shown && (
        <div class="facts">
          <div class="fact-line">
            <Badge kind={shown.state}>{shown.state}</Badge>
            <span><CapacityMark type={shown.capacityType} /> {shown.capacityType || "capacity type unknown"}</span>
            <span>{shown.type}</span><span>{shown.zone}</span>{shown.arch && <span>{shown.arch}</span>}
          </div>
          <div class="fact-line">
            <strong class="price"><Value text={perHour(shown.dollarsPerHour)} /></strong>
            {shown.pool && <span>NodePool <a href={link({ pool: shown.pool, node: undefined }, "pools")}>{shown.pool}</a></span>}
            <span>age <Age time={shown.created} until={past.value ? Date.parse(past.value.at) : now.value} /></span>
          </div>
          <dl class="meters">
            {(["cpu", "memory", "gpu"] as const).filter((r) => r !== "gpu" || shown.allocatable.gpu > 0).map((r) => {
              const text = r === "memory" ? memory : r === "cpu" ? cpu : count;
              const s = share(shown.requested[r], shown.allocatable[r]);
              return (
                <div key={r}>
                  <dt>{r}</dt>
                  <dd><Meter used={s} label={`${r}: ${percent(s)} requested`} /></dd>
                  <dd class="number">{s === null ? <Value text="—" /> : <>{text(shown.requested[r])} of {text(shown.allocatable[r])}</>}</dd>
                </div>
              );
            })}
          </dl>
        </div>
      )}
      {data ? <Detail d={data} then={then} /> : failure ? (failure.status === 404 ? <p class="muted pad">This node is gone.</p> : <Failed failure={failure} retry={reload} />) : <p class="muted pad" role="status">Loading details…</p>}
    </Drawer>
  );
}
