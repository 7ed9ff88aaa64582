export function DecisionsView() { return <div />; }
