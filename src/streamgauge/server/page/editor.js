export function show(place, name) {}
